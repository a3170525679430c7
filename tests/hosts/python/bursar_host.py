"""The adapter of a Python host: MCP's sampling callback, answered by Bursar.

    host = Host(channel, key=KEY, user="ada", server="everything")
    ClientSession(read, write, sampling_callback=host)

A host that can ask its user passes `ask`: it is given the params of MCP's
`elicitation/create` and the server's name, and returns `{"action", "content"?}`.

Works on MCP's JSON and not on an SDK's classes, so 1.x and 2.x are alike to it.
"""

import base64
import contextlib
import json

import grpc
from mcp import types

from stubs import sampling as pb
from stubs import common, sampling_grpc

# A tools/call of the common SDKs ends after 60 s; ours ends before.
SECONDS_MAX = 50
# Images pass in both directions.
MESSAGE_BYTES_MAX = 32 * 1024 * 1024
CHANNEL_OPTIONS = [
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
]
REJECTED, INVALID_PARAMS, INTERNAL = -1, -32602, -32603

ROLES = {"user": pb.ROLE_USER, "assistant": pb.ROLE_ASSISTANT}
CONTEXTS = {
    "none": pb.INCLUDE_CONTEXT_NONE,
    "thisServer": pb.INCLUDE_CONTEXT_THIS_SERVER,
    "allServers": pb.INCLUDE_CONTEXT_ALL_SERVERS,
}
MODES = {
    "auto": pb.TOOL_CHOICE_MODE_AUTO,
    "required": pb.TOOL_CHOICE_MODE_REQUIRED,
    "none": pb.TOOL_CHOICE_MODE_NONE,
}
ACTIONS = {
    "accept": pb.INPUT_ACTION_ACCEPT,
    "decline": pb.INPUT_ACTION_DECLINE,
    "cancel": pb.INPUT_ACTION_CANCEL,
}


class Host:
    """One MCP server of one user, as seen by its host."""

    def __init__(self, channel, *, key, user, server, envelope="", conversation="", ask=None):
        self._stub = sampling_grpc.SamplingServiceStub(channel)
        self._metadata = (("authorization", f"Bearer {key}"),)
        self._names = {"user": user, "server": server, "conversation": conversation}
        self._call = None
        self._ask = ask
        self.envelope = envelope
        # The last reply: outcome, charge, what is left. For the host, not the server.
        self.reply = None

    @contextlib.contextmanager
    def during(self, call_id, name, method="tools/call"):
        """Names the call whose work any sampling in the meantime is."""
        self._call = pb.OriginatingCall(id=call_id, method=method, name=name)
        try:
            yield self
        finally:
            self._call = None

    async def __call__(self, context, params):
        """The SDK's `sampling_callback`."""
        wire = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        request = pb.CreateMessageRequest(
            **self._names,
            envelope=self.envelope,
            originating_call=self._call,
            origin=pb.ORIGIN_TOOL_CALL if self._call else pb.ORIGIN_UNSPECIFIED,
            params=params_to_proto(wire),
            accepts_input_required=self._ask is not None,
        )
        try:
            self.reply = await self._sample(request)
            while self.reply.HasField("input_required"):
                await self._answer(request, self.reply.input_required)
                self.reply = await self._sample(request)
        except grpc.aio.AioRpcError as error:
            return error_of(error)
        return outcome_of(self.reply, tools="tools" in wire or "toolChoice" in wire)


    async def _sample(self, request):
        return await self._stub.CreateMessage(
            request, metadata=self._metadata, timeout=SECONDS_MAX
        )

    async def _answer(self, request, question):
        """Asks the user, and makes the same request the one that brings the answer."""
        said = await self._ask(json.loads(question.elicitation_json), question.server)
        request.resume_token = question.resume_token
        request.input_answer.Clear()
        request.input_answer.action = ACTIONS.get(said["action"], 0)
        if said.get("content") is not None:
            request.input_answer.content_json = json.dumps(said["content"])


def outcome_of(reply, *, tools):
    """What the server is told."""
    if reply.HasField("result"):
        result = result_to_json(reply.result, tools=tools)
        kind = types.CreateMessageResultWithTools if tools else types.CreateMessageResult
        return kind.model_validate(result)
    if reply.outcome == common.OUTCOME_REFUSED:
        data = {"reason": reply.refusal.reason}
        return types.ErrorData(code=REJECTED, message=reply.refusal.message, data=data)
    return types.ErrorData(code=INTERNAL, message="the broker gave no result")


def error_of(error):
    """A call that failed with nothing delivered."""
    trailing = dict(error.trailing_metadata() or ())
    invalid = error.code() == grpc.StatusCode.INVALID_ARGUMENT
    code = int(trailing.get("mcp-error-code", INVALID_PARAMS if invalid else INTERNAL))
    return types.ErrorData(code=code, message=error.details() or error.code().name)


# === MCP's params to the wire ===


def params_to_proto(params):
    """`params` of `sampling/createMessage`, of every revision."""
    return pb.SamplingParams(
        messages=[_message(it) for it in params["messages"]],
        model_preferences=_preferences(params.get("modelPreferences")),
        system_prompt=params.get("systemPrompt", ""),
        include_context=CONTEXTS.get(params.get("includeContext"), 0),
        temperature=params.get("temperature"),
        max_tokens=params["maxTokens"],
        stop_sequences=params.get("stopSequences", []),
        metadata_json=_json(params, "metadata"),
        tools=[_tool(it) for it in params.get("tools", [])],
        tool_choice=_choice(params.get("toolChoice")),
        meta_json=_json(params, "_meta"),
    )


def _json(holder, key):
    return json.dumps(holder[key]) if key in holder else ""


def _message(message):
    content = message["content"]
    blocks = content if isinstance(content, list) else [content]
    return pb.SamplingMessage(
        role=ROLES[message["role"]],
        content=[_block(it) for it in blocks],
        meta_json=_json(message, "_meta"),
    )


def _preferences(preferences):
    if preferences is None:
        return None
    return pb.ModelPreferences(
        hints=[pb.ModelHint(name=it.get("name", "")) for it in preferences.get("hints", [])],
        cost_priority=preferences.get("costPriority"),
        speed_priority=preferences.get("speedPriority"),
        intelligence_priority=preferences.get("intelligencePriority"),
    )


def _tool(tool):
    return pb.Tool(
        name=tool["name"],
        description=tool.get("description", ""),
        input_schema_json=_json(tool, "inputSchema"),
    )


def _choice(choice):
    if choice is None:
        return None
    return pb.ToolChoice(mode=MODES.get(choice.get("mode"), pb.TOOL_CHOICE_MODE_AUTO))


def _block(block):
    kind = block["type"]
    if kind in ("image", "audio"):
        data = base64.b64decode(block["data"], validate=True)
        media = pb.MediaContent(data=data, mime_type=block["mimeType"])
        return pb.ContentBlock(**{kind: media})
    make = {
        "text": lambda: {"text": pb.TextContent(text=block["text"])},
        "tool_use": lambda: {"tool_use": _tool_use(block)},
        "tool_result": lambda: {"tool_result": _tool_result(block)},
        "resource_link": lambda: {"resource_link": _link(block)},
        "resource": lambda: {"resource": _resource(block["resource"])},
    }
    return pb.ContentBlock(**make[kind]())


def _tool_use(block):
    return pb.ToolUseContent(
        id=block["id"],
        name=block["name"],
        input_json=_json(block, "input"),
        meta_json=_json(block, "_meta"),
    )


def _tool_result(block):
    return pb.ToolResultContent(
        tool_use_id=block["toolUseId"],
        content=[_block(it) for it in block.get("content", [])],
        structured_content_json=_json(block, "structuredContent"),
        is_error=block.get("isError", False),
        meta_json=_json(block, "_meta"),
    )


def _link(block):
    return pb.ResourceLink(
        uri=block["uri"],
        name=block.get("name", ""),
        mime_type=block.get("mimeType", ""),
        description=block.get("description", ""),
    )


def _resource(resource):
    made = pb.EmbeddedResource(uri=resource["uri"], mime_type=resource.get("mimeType", ""))
    if "blob" in resource:
        made.blob = base64.b64decode(resource["blob"], validate=True)
    else:
        made.text = resource["text"]
    return made


# === The wire to MCP's result ===


def result_to_json(result, *, tools):
    """The JSON of a result: one block where no tools were sent, else a list."""
    blocks = [_block_to_json(it) for it in result.content]
    made = {
        "role": "assistant",
        "content": blocks if tools else blocks[0],
        "model": result.model,
        "stopReason": result.stop_reason,
    }
    if result.meta_json:
        made["_meta"] = json.loads(result.meta_json)
    return made


def _block_to_json(block):
    kind = block.WhichOneof("block")
    if kind == "text":
        return {"type": "text", "text": block.text.text}
    if kind in ("image", "audio"):
        media = getattr(block, kind)
        data = base64.b64encode(media.data).decode()
        return {"type": kind, "data": data, "mimeType": media.mime_type}
    if kind == "tool_use":
        use = block.tool_use
        made = {"type": kind, "id": use.id, "name": use.name, "input": json.loads(use.input_json)}
        if use.meta_json:
            made["_meta"] = json.loads(use.meta_json)
        return made
    raise ValueError(f"a result holds no {kind}")
