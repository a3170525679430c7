"""A real gateway (Envoy) in front that allows by headers, and what it must not be fooled into.

It lets through what its headers say is allowed. Whoever says one thing in a header and another
in the body gets past it; the broker then has to refuse, and nothing may have been executed."""

import base64
import contextlib
import importlib.util
import json
import pathlib
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request

import grpc

from broker import dev
from stubs import common, ledger, ledger_grpc, sampling, sampling_grpc

READY_SECONDS_MAX = 30
MISMATCH = -32020
REVISION = "2026-07-28"
# What the gateway's operator allows.
ALLOWED = {
    "mcp-method": "sampling/createMessage",
    "mcp-name": "safe",
    "mcp-protocol-version": REVISION,
    "bursar-user": "demo-user",
    "bursar-server": "demo-server",
}


def envoy():
    """The program of the package, where it is installed."""
    found = importlib.util.find_spec("envoy")
    places = [] if found is None else found.submodule_search_locations or []
    programs = [pathlib.Path(it) / "_bin" / "envoy" for it in places]
    return next((it for it in programs if it.is_file()), None)


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def configuration(listen, upstream, http2):
    """Allows requests whose headers are all as they are allowed to be, and no others."""
    exactly = [
        {"header": {"name": name, "string_match": {"exact": value}}}
        for name, value in ALLOWED.items()
    ]
    rbac = {
        "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
        "rules": {
            "action": "ALLOW",
            "policies": {"allowed": {
                "permissions": [{"and_rules": {"rules": exactly}}],
                "principals": [{"any": True}],
            }},
        },
    }
    router = {"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}
    manager = {
        "@type": "type.googleapis.com/envoy.extensions.filters.network"
                 ".http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": "in",
        "codec_type": "AUTO",
        "route_config": {"virtual_hosts": [{
            "name": "all", "domains": ["*"],
            "routes": [{"match": {"prefix": "/"}, "route": {"cluster": "broker"}}],
        }]},
        "http_filters": [
            {"name": "envoy.filters.http.rbac", "typed_config": rbac},
            {"name": "envoy.filters.http.router", "typed_config": router},
        ],
    }
    cluster = {"name": "broker", "type": "STATIC", "load_assignment": {
        "cluster_name": "broker",
        "endpoints": [{"lb_endpoints": [{"endpoint": {"address": address(upstream)}}]}],
    }}
    if http2:
        options = {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": {"http2_protocol_options": {}},
        }
        cluster["typed_extension_protocol_options"] = {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": options}
    chain = {"filters": [
        {"name": "envoy.filters.network.http_connection_manager", "typed_config": manager}]}
    return {"static_resources": {
        "listeners": [{"name": "in", "address": address(listen), "filter_chains": [chain]}],
        "clusters": [cluster],
    }}


def address(port):
    return {"socket_address": {"address": "127.0.0.1", "port_value": port}}


@contextlib.contextmanager
def gateway(upstream, http2):
    """A running gateway before a door; gives its port."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="bursar-envoy-") as folder:
        path = pathlib.Path(folder) / "envoy.json"
        path.write_text(json.dumps(configuration(port, upstream, http2)))
        log = pathlib.Path(folder) / "log"
        with log.open("wb") as out:
            child = subprocess.Popen(
                [envoy(), "-c", path, "--use-dynamic-base-id", "--concurrency", "1",
                 "--log-level", "warning"],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        try:
            for _ in range(READY_SECONDS_MAX * 20):
                if child.poll() is not None:
                    raise RuntimeError(f"envoy ended: {log.read_text(errors='replace')[-2000:]}")
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                time.sleep(0.05)
            else:
                raise RuntimeError("envoy is not ready")
            yield port
        finally:
            child.terminate()
            child.wait(30)


@unittest.skipIf(envoy() is None, "no gateway is installed")
class L7Proxy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ready = cls.enterClassContext(dev())
        port = lambda name: int(cls.ready[name].rsplit(":", 1)[1])
        cls.http = cls.enterClassContext(gateway(port("http"), http2=False))
        cls.grpc = cls.enterClassContext(gateway(port("grpc"), http2=True))
        channel = grpc.insecure_channel(f"127.0.0.1:{cls.grpc}")
        cls.addClassCleanup(channel.close)
        cls.sampling = sampling_grpc.SamplingServiceStub(channel)
        direct = grpc.insecure_channel(cls.ready["grpc"].split("://")[1])
        cls.addClassCleanup(direct.close)
        cls.ledger = ledger_grpc.LedgerServiceStub(direct)

    def entries(self):
        finance = (("authorization", f"Bearer {self.ready['finance_key']}"),)
        return len(self.ledger.ListEntries(ledger.ListEntriesRequest(), metadata=finance).entries)

    def post(self, headers, method="sampling/createMessage", **said):
        """Status and body of a request whose body says this, sent with these headers."""
        said = {"name": "safe", "user": "demo-user", "server": "demo-server",
                "revision": REVISION, **said}
        content = {"type": "text", "text": '@script {"text": "done"}'}
        meta = {
            "io.modelcontextprotocol/protocolVersion": said["revision"],
            "dev.bursar/user": said["user"],
            "dev.bursar/server": said["server"],
            "dev.bursar/originatingCall": {"id": 1, "method": "tools/call", "name": said["name"]},
        }
        params = {"messages": [{"role": "user", "content": content}], "maxTokens": 50, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.http}/mcp", json.dumps(body).encode(), {
                "content-type": "application/json",
                "authorization": f"Bearer {self.ready['host_key']}", **headers})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as it:
            text = it.read()
            return it.code, json.loads(text) if text.startswith(b"{") else None

    def test_what_is_allowed_and_true_passes(self):
        status, body = self.post(ALLOWED)
        self.assertEqual(status, 200, body)
        self.assertEqual(body["result"]["content"]["text"], "done")

    def test_the_gateway_itself_keeps_out_what_headers_say_is_forbidden(self):
        for name in ALLOWED:
            status, body = self.post({**ALLOWED, name: "forbidden"})
            self.assertEqual((status, body), (403, None), name)
            without = {it: value for it, value in ALLOWED.items() if it != name}
            self.assertEqual(self.post(without)[0], 403, name)

    def test_what_gets_past_it_by_a_lie_is_never_executed(self):
        before = self.entries()
        lies = [
            {"name": "forbidden"}, {"name": "Safe"}, {"name": "safe "}, {"name": ""},
            {"user": "somebody"}, {"server": "other-server"}, {"revision": "2025-11-25"},
            {"method": "tools/call"},
        ]
        for said in lies:
            status, body = self.post(ALLOWED, **said)
            self.assertEqual(status, 400, (said, body))
            self.assertEqual(body["error"]["code"], MISMATCH, said)
        encoded = base64.b64encode(b"forbidden").decode()
        for extra in [{"mcp-param-path": "/safe"}, {"mcp-session-id": f"=?base64?{encoded}?="}]:
            status, body = self.post({**ALLOWED, **extra})
            self.assertEqual((status, body["error"]["code"]), (400, MISMATCH), extra)
        self.assertEqual(self.entries(), before)

    def sample(self, metadata, **said):
        said = {"name": "safe", "user": "demo-user", "server": "demo-server",
                "revision": REVISION, **said}
        text = sampling.TextContent(text='@script {"text": "done"}')
        message = sampling.SamplingMessage(
            role=sampling.ROLE_USER, content=[sampling.ContentBlock(text=text)])
        request = sampling.CreateMessageRequest(
            user=said["user"], server=said["server"], protocol_revision=said["revision"],
            originating_call=sampling.OriginatingCall(name=said["name"]),
            params=sampling.SamplingParams(messages=[message], max_tokens=50))
        key = ("authorization", f"Bearer {self.ready['host_key']}")
        return self.sampling.CreateMessage(request, metadata=(key, *metadata.items()))

    def test_the_same_by_grpc(self):
        reply = self.sample(ALLOWED)
        self.assertEqual(reply.outcome, common.OUTCOME_COMPLETE)
        before = self.entries()
        with self.assertRaises(grpc.RpcError) as caught:
            self.sample({**ALLOWED, "mcp-name": "forbidden"})
        self.assertEqual(caught.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
        lies = [
            {"name": "forbidden"}, {"name": "Safe"}, {"user": "somebody"},
            {"server": "other-server"}, {"revision": "2025-11-25"}, {"revision": ""},
        ]
        for said in lies:
            with self.assertRaises(grpc.RpcError) as caught:
                self.sample(ALLOWED, **said)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT, said)
            trailing = dict(caught.exception.trailing_metadata())
            self.assertEqual(trailing["mcp-error-code"], str(MISMATCH), said)
        self.assertEqual(self.entries(), before)


if __name__ == "__main__":
    unittest.main()
