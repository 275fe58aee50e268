"""The official Python client."""

import contextlib

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async def elicit(context, params):
        return ElicitResult(action="accept", content=approve())

    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, elicitation_callback=elicit if approve else None) as client:
            listed = await client.list_tools()
            yield Tools([tool.name for tool in listed.tools], client.call_tool)


run(["mcp"], connect)
