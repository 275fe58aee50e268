"""The official Python client, previous major version."""

import contextlib

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async def elicit(context, params):
        return ElicitResult(action="accept", content=approve())

    async with httpx.AsyncClient(headers=headers, timeout=30) as http:
        async with streamable_http_client(url, http_client=http) as (read, write, _):
            async with ClientSession(read, write, elicitation_callback=elicit if approve else None) as session:
                await session.initialize()
                listed = await session.list_tools()
                yield Tools([tool.name for tool in listed.tools], session.call_tool)


run(["mcp"], connect)
