"""The official Python client, previous major version, unmodified."""

import contextlib
import sys
from urllib.parse import urljoin

import httpx
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client
from session import report, run_session

URL = sys.argv[1]


@contextlib.asynccontextmanager
async def connect(url, **options):
    async with streamable_http_client(url, **options) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            yield session


async def unknown_store(slug, status, code):
    # The error of the client depends on the status and never contains the response, so a hook records it.
    answers = []

    async def record(response):
        await response.aread()
        answers.append((response.status_code, response.json()["error"]["data"]["error"]))

    connected = False
    with contextlib.suppress(McpError, ExceptionGroup):
        async with httpx.AsyncClient(event_hooks={"response": [record]}) as http_client:
            async with connect(urljoin(URL, f"/{slug}/mcp"), http_client=http_client):
                connected = True
    assert not connected, f"connected to {slug}"
    assert answers == [(status, code)], answers


async def main():
    async with connect(URL) as session:
        return await run_session(session, McpError, unknown_store)


report("py1", main)
