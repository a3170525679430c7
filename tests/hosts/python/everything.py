"""The published reference server, driven as any MCP server is."""

import contextlib
import json
import os
import pathlib

from mcp import ClientSession, StdioServerParameters, stdio_client

TOOL = "trigger-sampling-request"
PACKAGE = "@modelcontextprotocol/server-everything"


def _command():
    modules = pathlib.Path(os.environ["BURSAR_NODE_MODULES"])
    main = modules / PACKAGE / "dist" / "index.js"
    return StdioServerParameters(command="node", args=[str(main), "stdio"])


@contextlib.asynccontextmanager
async def session(host):
    """A session with the server, whose sampling goes to `host`."""
    with open(os.devnull, "w") as nowhere:
        async with stdio_client(_command(), errlog=nowhere) as (read, write):
            async with ClientSession(read, write, sampling_callback=host) as opened:
                await opened.initialize()
                yield opened


async def sample(opened, host, prompt, max_tokens=64, call_id="call-1"):
    """Calls the tool that samples. The tool's result, and in it, where the tool
    did not fail, the sampling result as the server got it."""
    with host.during(call_id, TOOL):
        result = await opened.call_tool(TOOL, {"prompt": prompt, "maxTokens": max_tokens})
    result = result.model_dump(mode="json", by_alias=True)
    text = result["content"][0]["text"]
    sampled = None if result.get("isError") else json.loads(text[text.index("{") :])
    return result, sampled
