"""Strands Agents: its tools as an agent streams them."""

import asyncio
import contextlib

import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from shared import Tools, in_thread, run
from strands.tools.mcp import MCPClient


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async def elicit(context, params):
        return ElicitResult(action="accept", content=approve())

    def transport():
        return streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers, timeout=30))

    client = MCPClient(transport, elicitation_callback=elicit if approve else None)
    async with in_thread(client):
        listed = await asyncio.to_thread(client.list_tools_sync)
        tools = {tool.tool_name: tool for tool in listed}

        async def call(name, arguments):
            use = {"toolUseId": "call", "name": name, "input": arguments}
            async for event in tools[name].stream(use, {}):
                last = event
            return last["tool_result"]["content"] if "tool_result" in last else dict(last)

        def convert():
            return {"converted": len([tool.tool_spec for tool in listed])}

        yield Tools(tools, call, convert)


run(["strands-agents", "mcp"], connect)
