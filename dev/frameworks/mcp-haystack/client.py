"""Haystack: a toolset whose tools are invoked as the agent component invokes them."""

import asyncio
import contextlib

from haystack_integrations.tools.mcp import MCPToolset, StreamableHttpServerInfo
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    server = StreamableHttpServerInfo(url=url, headers=headers)
    toolset = await asyncio.to_thread(MCPToolset, server, eager_connect=True)
    tools = {tool.name: tool for tool in toolset}

    async def call(name, arguments):
        return await asyncio.to_thread(tools[name].invoke, **arguments)

    def convert():
        return {"converted": len([tool.tool_spec for tool in toolset])}

    yield Tools(tools, call, convert)
    await asyncio.to_thread(toolset.close)


run(["mcp-haystack", "haystack-ai", "mcp"], connect, elicitation="no callback: MCPToolset takes none")
