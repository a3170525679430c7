"""Results of the JSON-RPC door, of every way a call can end, against the published schemas.

`create_message_result.json` has, for each revision, what its schema says of a result, without
the prose."""

import http.client
import json
import pathlib
import random
import unittest

import jsonschema

from broker import dev

SCHEMAS = json.loads((pathlib.Path(__file__).parent / "create_message_result.json").read_text())
CASES = 400
SEED = 20260728
TOOL = {"name": "weather", "inputSchema": {"type": "object"}}
WORDS = ["one", "zwei", "три", "四", "🙂", "\"", "\\", "\u2028", "<b>", "e\u0301", "\t"]


def script(some):
    """A way for the model to behave."""
    said = {"text": " ".join(some.choices(WORDS, k=some.randrange(1, 40)))}
    if some.random() < 0.3:
        said["text"] = ""
    if some.random() < 0.3:
        inputs = [{}, {"a": 1e300}, {"b": [None, True, "x"]}, {"n": 12345678901234567890}]
        said["tool_calls"] = [
            {"name": some.choice(["weather", "unknown"]), "input": some.choice(inputs)}
            for _ in range(some.randrange(1, 4))
        ]
    if some.random() < 0.3:
        said["finish"] = some.choice(["stop", "length", "content_filter", "tool_calls", "eos"])
    if some.random() < 0.3:
        said["fault"] = some.choice(["disconnect", "malformed", "error_frame"])
        said["fault_after"] = some.randrange(1, 6)
    if some.random() < 0.2:
        said["usage"] = some.choice([None, {"input": 3, "output": 2}, {"input": -1, "output": 10**9}])
    return said


class ResultSchemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ready = cls.enterClassContext(dev())
        cls.door = http.client.HTTPConnection(cls.ready["http"].split("://")[1], timeout=60)
        cls.addClassCleanup(cls.door.close)

    def sample(self, params):
        body = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": params}
        self.door.request("POST", "/mcp", json.dumps(body), {
            "content-type": "application/json",
            "authorization": f"Bearer {self.ready['host_key']}"})
        reply = self.door.getresponse()
        return reply.status, reply.getheader("bursar-outcome"), json.loads(reply.read())

    def case(self, some, revision, number):
        text = f"@script {json.dumps(script(some), ensure_ascii=some.random() < 0.5)}"
        meta = {
            "dev.bursar/user": self.ready["user"],
            "dev.bursar/server": self.ready["server"],
            # Some share an envelope until it is used up.
            "dev.bursar/conversation": f"{revision} {number // some.choice([1, 40])}",
            "io.modelcontextprotocol/protocolVersion": revision,
        }
        params = {
            "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
            "maxTokens": some.choice([1, 3, 100, 10**6]),
            "_meta": meta,
        }
        if some.random() < 0.5:
            params["tools"] = [TOOL]
        if "tools" in params and some.random() < 0.5:
            params["toolChoice"] = {"mode": some.choice(["auto", "required", "none"])}
        if some.random() < 0.3:
            params["stopSequences"] = [some.choice(WORDS)]
        return params

    def test_every_result_is_what_its_revision_says(self):
        some = random.Random(SEED)
        seen = {}
        for revision, schema in SCHEMAS.items():
            validator = jsonschema.validators.validator_for(schema)(schema)
            for number in range(CASES):
                params = self.case(some, revision, number)
                status, outcome, body = self.sample(params)
                if "result" not in body:
                    # A backend that failed with nothing delivered.
                    self.assertEqual((status, body["error"]["code"]), (503, -32603), body)
                    outcome = "ERROR"
                else:
                    self.check(validator, params, revision, body["result"])
                seen[outcome] = seen.get(outcome, 0) + 1
                if '"fault"' in params["messages"][0]["content"]["text"]:
                    self.mend(revision, number)
        # Every way to end was among them.
        for outcome in ("COMPLETE", "PARTIAL", "EXHAUSTED", "ERROR"):
            self.assertGreater(seen.get(outcome, 0), 10, seen)

    def mend(self, revision, number):
        """A model that fails five times in a row is left alone, and all that follows would
        be errors: an answer in between makes it count anew."""
        status, _, body = self.sample({
            "messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}],
            "maxTokens": 10,
            "_meta": {
                "dev.bursar/user": self.ready["user"],
                "dev.bursar/server": self.ready["server"],
                "dev.bursar/conversation": f"mended {revision} {number}",
            },
        })
        self.assertEqual(status, 200, body)

    def check(self, validator, params, revision, result):
        problems = [it.message for it in validator.iter_errors(result)]
        self.assertEqual(problems, [], (revision, params, result))
        content = result["content"]
        is_plain = "tools" not in params and "toolChoice" not in params
        if is_plain or revision < "2025-11-25":
            # Exactly one block of text, or the TypeScript client of the first SDK fails.
            self.assertEqual((type(content), content["type"]), (dict, "text"), result)
            return
        blocks = content if isinstance(content, list) else [content]
        self.assertGreater(len(blocks), 0)
        for block in blocks:
            if block["type"] == "tool_use":
                self.assertEqual(block["name"], "weather")
                self.assertNotEqual(params.get("toolChoice"), {"mode": "none"})


if __name__ == "__main__":
    unittest.main()
