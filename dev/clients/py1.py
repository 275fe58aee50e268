"""The official Python client, the older line, stock."""

import contextlib
import sys
from urllib.parse import urljoin

import httpx
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamable_http_client
from visit import report, visit

URL = sys.argv[1]


@contextlib.asynccontextmanager
async def connect(url, **options):
    async with streamable_http_client(url, **options) as (read, write, _):
        async with ClientSession(read, write) as session:
            await session.initialize()
            yield session


async def stranger(slug, status, code):
    # What the client raises differs from status to status and never holds the answer, so we listen in.
    answers = []

    async def listen(response):
        await response.aread()
        answers.append((response.status_code, response.json()["error"]["data"]["error"]))

    entered = False
    with contextlib.suppress(McpError, ExceptionGroup):
        async with httpx.AsyncClient(event_hooks={"response": [listen]}) as http_client:
            async with connect(urljoin(URL, f"/{slug}/mcp"), http_client=http_client):
                entered = True
    assert not entered, f"{slug} let us in"
    assert answers == [(status, code)], answers


async def main():
    async with connect(URL) as session:
        return await visit(session, McpError, stranger)


report("py1", main)
