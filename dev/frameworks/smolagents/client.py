"""smolagents: its tools as the code of a CodeAgent calls them."""

import asyncio
import contextlib

from smolagents import MCPClient
from smolagents.models import get_tool_json_schema
from shared import Tools, in_thread, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    server = {"url": url, "transport": "streamable-http", "headers": headers}
    async with in_thread(MCPClient(server, structured_output=True)) as listed:
        tools = {tool.name: tool for tool in listed}

        async def call(name, arguments):
            return await asyncio.to_thread(tools[name], **arguments, sanitize_inputs_outputs=True)

        def convert():
            return {"converted": len([get_tool_json_schema(tool) for tool in listed])}

        yield Tools(tools, call, convert)


run(["smolagents", "mcpadapt", "mcp"], connect, elicitation="no callback: MCPClient takes none")
