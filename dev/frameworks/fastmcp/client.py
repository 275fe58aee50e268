"""FastMCP: its client raises ToolError for a refusal."""

import contextlib

from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async def elicit(message, response_type, params, context):
        return approve()

    transport = StreamableHttpTransport(url, headers=headers)
    async with Client(transport, timeout=30, elicitation_handler=elicit if approve else None) as client:
        names = [tool.name for tool in await client.list_tools()]

        async def call(name, arguments):
            result = await client.call_tool(name, arguments)
            return "\n".join(block.text for block in result.content)

        yield Tools(names, call)


run(["fastmcp", "mcp"], connect)
