"""The adapter against a small stand-in for the broker, and the reference server
between them: what is tested here is the host's side alone."""

import base64
import json
import unittest

import grpc
from mcp import types

import bursar_host
import everything
from stubs import common, sampling, sampling_grpc

META = {"dev.bursar/budget": {"left": {"calls": 0}}}


class StandIn(sampling_grpc.SamplingServiceServicer):
    """One call for a server called `granted`; nothing for any other."""

    def __init__(self):
        self.requests = []

    async def CreateMessage(self, request, context):
        first = not self.requests
        self.requests.append(request)
        metadata = dict(context.invocation_metadata())
        if metadata.get("authorization") != "Bearer a-key":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a valid API key is required")
        if request.params.max_tokens < 1:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "params.max_tokens: at least 1")
        reply = sampling.CreateMessageResponse(envelope="tenants/t/envelopes/e")
        if request.server != "granted":
            reply.outcome = common.OUTCOME_REFUSED
            reply.refusal.reason, reply.refusal.message = "NO_GRANT", "no grant"
            return reply
        reply.outcome = common.OUTCOME_COMPLETE if first else common.OUTCOME_EXHAUSTED
        text = "All went well." if first else ""
        reply.result.content.add().text.text = text
        reply.result.role, reply.result.model = sampling.ROLE_ASSISTANT, "small"
        reply.result.stop_reason = "endTurn" if first else "budgetExhausted"
        reply.result.meta_json = json.dumps(META)
        return reply


class AgainstTheStandIn(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.broker = StandIn()
        server = grpc.aio.server()
        sampling_grpc.add_SamplingServiceServicer_to_server(self.broker, server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self.addAsyncCleanup(server.stop, None)
        self.channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
        self.addAsyncCleanup(self.channel.close)

    def host(self, server="granted", key="a-key"):
        return bursar_host.Host(self.channel, key=key, user="ada", server=server)

    async def test_the_text_comes_back_through_the_reference_server(self):
        host = self.host()
        async with everything.session(host) as session:
            result, sampled = await everything.sample(session, host, "How was the quarter?")
            self.assertFalse(result["isError"])
            self.assertEqual(sampled["content"], {"type": "text", "text": "All went well."})
            self.assertEqual(sampled["_meta"], META)
            result, sampled = await everything.sample(session, host, "And the next?")
            self.assertFalse(result["isError"])
            self.assertEqual(sampled["content"]["text"], "")
            self.assertEqual(sampled["stopReason"], "budgetExhausted")
        request = self.broker.requests[0]
        self.assertIn("How was the quarter?", request.params.messages[0].content[0].text.text)
        self.assertEqual(request.params.max_tokens, 64)
        self.assertEqual(request.params.temperature, 0.7)
        self.assertEqual(request.originating_call.name, everything.TOOL)

    async def test_a_refusal_is_an_error_and_no_message(self):
        host = self.host(server="stranger")
        async with everything.session(host) as session:
            result, _ = await everything.sample(session, host, "Anything?")
        self.assertTrue(result["isError"])
        self.assertIn("-1", result["content"][0]["text"])
        self.assertEqual(host.reply.outcome, common.OUTCOME_REFUSED)

    async def test_failures_keep_their_meaning(self):
        params = types.CreateMessageRequestParams.model_validate(
            {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}],
             "maxTokens": 0}
        )
        error = await self.host()(None, params)
        self.assertEqual(error.code, bursar_host.INVALID_PARAMS)
        self.assertIn("max_tokens", error.message)
        error = await self.host(key="wrong")(None, params)
        self.assertEqual(error.code, bursar_host.INTERNAL)


class EveryField(unittest.TestCase):
    def test_params_of_every_revision_reach_the_wire(self):
        image = base64.b64encode(b"\x89PNG").decode()
        made = bursar_host.params_to_proto({
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image", "data": image, "mimeType": "image/png"},
                    {"type": "audio", "data": image, "mimeType": "audio/wav"}]},
                {"role": "assistant", "content": {
                    "type": "tool_use", "id": "t1", "name": "add", "input": {"a": 2**60}}},
                {"role": "user", "content": {
                    "type": "tool_result", "toolUseId": "t1", "isError": True,
                    "structuredContent": [1],
                    "content": [
                        {"type": "resource_link", "uri": "file:///a", "name": "a"},
                        {"type": "resource", "resource": {"uri": "file:///b", "blob": image}}]}},
            ],
            "modelPreferences": {"hints": [{"name": "small"}], "costPriority": 0.5},
            "systemPrompt": "be brief", "includeContext": "thisServer", "temperature": 0.0,
            "maxTokens": 7, "stopSequences": ["."], "metadata": {"k": 1},
            "tools": [{"name": "add", "inputSchema": {"type": "object"}}],
            "toolChoice": {"mode": "required"}, "_meta": {"traceparent": "00-1"},
        })
        blocks = [it for message in made.messages for it in message.content]
        self.assertEqual([it.WhichOneof("block") for it in blocks],
                         ["text", "image", "audio", "tool_use", "tool_result"])
        self.assertEqual(blocks[1].image.data, b"\x89PNG")
        self.assertEqual(json.loads(blocks[3].tool_use.input_json), {"a": 2**60})
        result = blocks[4].tool_result
        self.assertEqual((result.structured_content_json, result.is_error), ("[1]", True))
        self.assertEqual(result.content[1].resource.blob, b"\x89PNG")
        preferences = made.model_preferences
        self.assertEqual((preferences.hints[0].name, preferences.cost_priority), ("small", 0.5))
        self.assertFalse(preferences.HasField("speed_priority"))
        self.assertTrue(made.HasField("temperature"))
        self.assertEqual(made.include_context, sampling.INCLUDE_CONTEXT_THIS_SERVER)
        self.assertEqual(made.tool_choice.mode, sampling.TOOL_CHOICE_MODE_REQUIRED)
        self.assertEqual(json.loads(made.meta_json), {"traceparent": "00-1"})

    def test_only_a_request_with_tools_gets_a_list(self):
        reply = sampling.CreateMessageResponse(outcome=common.OUTCOME_COMPLETE)
        reply.result.model, reply.result.stop_reason = "small", "toolUse"
        use = reply.result.content.add().tool_use
        use.id, use.name, use.input_json = "t1", "add", '{"a": 1}'
        with_tools = bursar_host.outcome_of(reply, tools=True)
        self.assertEqual(with_tools.content[0].input, {"a": 1})
        del reply.result.content[:]
        reply.result.content.add().text.text = "fine"
        without = bursar_host.outcome_of(reply, tools=False)
        self.assertEqual(without.content.text, "fine")


if __name__ == "__main__":
    unittest.main()
