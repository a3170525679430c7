"""A server that calls an LLM API directly, by the official OpenAI SDK as it is published.

It is given OPENAI_BASE_URL and OPENAI_API_KEY, and knows of nothing else; the key is an
envelope that runs out."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import grpc
import httpx2  # the client that the SDK itself brings
import openai

from broker import dev
from stubs import common, envelope, envelope_grpc, ledger, ledger_grpc, token

ANSWER = "The quarter went well."
PROMPT = f'Summarise the quarter. @script {{"text": "{ANSWER}"}}'
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a place",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}},
    },
}


def says(text):
    return [{"role": "user", "content": text}]


class Counted:
    """Counts what the SDK sends, its own retries among it."""

    def __init__(self):
        self.requests = 0

    def __call__(self, request):
        self.requests += 1


class OpenAiSdk(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ready = cls.enterClassContext(dev())
        channel = grpc.insecure_channel(cls.ready["grpc"].split("://")[1])
        cls.addClassCleanup(channel.close)
        cls.envelopes = envelope_grpc.EnvelopeServiceStub(channel)
        cls.ledger = ledger_grpc.LedgerServiceStub(channel)
        cls.host = (("authorization", f"Bearer {cls.ready['host_key']}"),)

    def open(self, **limits):
        request = envelope.OpenEnvelopeRequest(
            user=self.ready["user"], server=self.ready["server"],
            limits=envelope.EnvelopeLimits(**limits))
        return self.envelopes.OpenEnvelope(request, metadata=self.host).name

    def mint(self, name):
        request = token.MintTokenRequest(envelope=name)
        return self.envelopes.MintToken(request, metadata=self.host)

    def server(self, key):
        counted = Counted()
        http = httpx2.Client(event_hooks={"request": [counted]})
        self.addCleanup(http.close)
        client = openai.OpenAI(
            base_url=f"{self.ready['http']}/v1", api_key=key, http_client=http)
        return client, counted

    def entries(self, name):
        request = ledger.ListEntriesRequest(envelope=name)
        finance = (("authorization", f"Bearer {self.ready['finance_key']}"),)
        return list(self.ledger.ListEntries(request, metadata=finance).entries)

    def test_an_answer_a_stream_and_then_the_end_of_the_envelope(self):
        name = self.open(calls=2)
        client, counted = self.server(self.mint(name).key)
        done = client.chat.completions.create(model="scripted-small", messages=says(PROMPT))
        self.assertEqual(done.choices[0].message.content, ANSWER)
        self.assertEqual(done.choices[0].finish_reason, "stop")
        self.assertGreater(done.usage.completion_tokens, 0)

        chunks = list(client.chat.completions.create(
            model="scripted-small", messages=says(PROMPT), stream=True,
            stream_options={"include_usage": True}))
        text = "".join(it.choices[0].delta.content or "" for it in chunks if it.choices)
        self.assertEqual(text, ANSWER)
        self.assertGreater(chunks[-1].usage.total_tokens, 0)

        for stream in (False, True):
            before = counted.requests
            with self.assertRaises(openai.APIStatusError) as caught:
                client.chat.completions.create(
                    model="scripted-small", messages=says(PROMPT), stream=stream)
            self.assertEqual(caught.exception.status_code, 402)
            self.assertEqual(caught.exception.code, "budget_exhausted")
            self.assertEqual(caught.exception.body["limit"]["kind"], "CALLS")
            # Asked once: the SDK, which tries twice more by itself, was told that it is no use.
            self.assertEqual(counted.requests - before, 1)
        self.assertEqual(len(self.entries(name)), 2)

    def test_money_gives_what_was_paid_for_and_then_its_name(self):
        name = self.open(calls=50, money=common.Money(nanos=400_000))
        client, _ = self.server(self.mint(name).key)
        long = says('@script {"text": "%s"}' % ("word " * 400))
        done = client.chat.completions.create(
            model="scripted-small", messages=long, max_completion_tokens=1000)
        self.assertEqual(done.choices[0].finish_reason, "length")
        self.assertTrue(done.choices[0].message.content)
        with self.assertRaises(openai.APIStatusError) as caught:
            client.chat.completions.create(model="scripted-small", messages=long)
        self.assertEqual(caught.exception.body["limit"]["kind"], "MONEY")

    def test_a_loop_of_tools_by_the_sdks_own_types(self):
        name = self.open(calls=5)
        client, _ = self.server(self.mint(name).key)
        calls = [{"name": "weather", "input": {"place": it}} for it in ("Rome", "Oslo")]
        messages = says("@script " + json.dumps({"tool_calls": calls}))
        asked = client.chat.completions.create(
            model="scripted-small", messages=messages, tools=[WEATHER])
        choice = asked.choices[0]
        self.assertEqual(choice.finish_reason, "tool_calls")
        places = [json.loads(it.function.arguments)["place"] for it in choice.message.tool_calls]
        self.assertEqual(places, ["Rome", "Oslo"])
        messages.append(choice.message)
        messages += [
            {"role": "tool", "tool_call_id": it.id, "content": "sun"}
            for it in choice.message.tool_calls
        ]
        messages += says('@script {"text": "Sunny."}')
        with client.chat.completions.stream(
            model="scripted-small", messages=messages, tools=[WEATHER]
        ) as stream:
            done = stream.get_final_completion()
        self.assertEqual(done.choices[0].message.content, "Sunny.")

    def test_streamed_tool_calls_are_put_together(self):
        client, _ = self.server(self.mint(self.open(calls=5)).key)
        calls = [{"name": "weather", "input": {"place": it}} for it in ("Rome", "Oslo")]
        messages = says("@script " + json.dumps({"text": "Let me see.", "tool_calls": calls}))
        with client.chat.completions.stream(
            model="scripted-small", messages=messages, tools=[WEATHER]
        ) as stream:
            done = stream.get_final_completion()
        message = done.choices[0].message
        self.assertEqual(message.content, "Let me see.")
        places = [json.loads(it.function.arguments)["place"] for it in message.tool_calls]
        self.assertEqual(places, ["Rome", "Oslo"])

    def test_errors_are_the_sdks_own(self):
        client, counted = self.server(self.mint(self.open(calls=5)).key)
        with self.assertRaises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="m", messages=says("hi"), n=2)
        self.assertEqual(caught.exception.param, "n")
        fetched = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
        with self.assertRaises(openai.BadRequestError) as caught:
            client.chat.completions.create(model="m", messages=says([fetched]))
        self.assertEqual(caught.exception.param, "messages[0].content[0].image_url.url")
        with self.assertRaises(openai.AuthenticationError):
            self.server(self.ready["host_key"])[0].models.list()
        with self.assertRaises(openai.NotFoundError):
            client.models.retrieve("nothing")
        with self.assertRaises(openai.NotFoundError):
            client.embeddings.create(model="m", input="hi")
        self.assertEqual(
            [it.id for it in client.models.list()], ["scripted-large", "scripted-small"])
        before = counted.requests
        with self.assertRaises(openai.InternalServerError):
            client.chat.completions.create(
                model="scripted-small", messages=says('@script {"status": 503}'))
        self.assertEqual(counted.requests - before, 1)

    def test_a_revoked_key_is_over_at_once(self):
        minted = self.mint(self.open(calls=5))
        client, _ = self.server(minted.key)
        client.chat.completions.create(model="scripted-small", messages=says(PROMPT))
        self.envelopes.RevokeToken(token.RevokeTokenRequest(name=minted.name), metadata=self.host)
        with self.assertRaises(openai.AuthenticationError):
            client.chat.completions.create(model="scripted-small", messages=says(PROMPT))

    def test_the_command_line_prints_a_key_for_the_environment(self):
        name = self.open(calls=5)
        run = [os.environ["BURSAR_BIN"], "envelope", "token", name,
               "--endpoint", self.ready["grpc"], "--key", self.ready["host_key"]]
        key = subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()
        code = "import openai; print(openai.OpenAI().chat.completions.create(" \
               f"model='scripted-small', messages={says(PROMPT)!r}).choices[0].message.content)"
        said = self.in_environment(["python3", "-c", code], key)
        self.assertEqual(said.strip(), ANSWER)

    def test_the_typescript_sdk_does_the_same(self):
        script = pathlib.Path(__file__).parents[1] / "typescript" / "openai_sdk.mjs"
        key = self.mint(self.open(calls=4)).key
        said = json.loads(self.in_environment(["node", str(script)], key))
        self.assertEqual(said["plain"], {"text": "Blue.", "finish": "stop"})
        self.assertEqual(said["stream"], {"text": "one two three", "finish": "stop", "usage": True})
        self.assertEqual(said["tools"], {"called": ["Rome", "Oslo"], "text": "Sunny."})
        end = {"status": 402, "code": "budget_exhausted", "kind": "CALLS", "requests": 1}
        self.assertEqual(said["exhausted"], end)
        self.assertEqual(said["exhausted_stream"], end)
        self.assertEqual(said["models"], ["scripted-large", "scripted-small"])
        self.assertEqual(said["refused"], {"status": 400, "param": "n"})

    def in_environment(self, command, key):
        command = [sys.executable if it == "python3" else it for it in command]
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": f"{self.ready['http']}/v1",
            "OPENAI_API_KEY": key,
        }
        run = subprocess.run(
            command, env=environment, check=False, capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout


if __name__ == "__main__":
    unittest.main()
