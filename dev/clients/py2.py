"""The official Python client, stock, in the old and in the new version of the protocol."""

import sys
from functools import partial
from urllib.parse import urljoin

from mcp import Client, MCPError
from visit import report, understand, visit

URL = sys.argv[1]


async def speaking(mode, version):
    async def stranger(slug, status, code):
        try:
            async with Client(urljoin(URL, f"/{slug}/mcp"), mode=mode):
                raise AssertionError(f"{slug} let us in")
        except* MCPError as group:
            error = group
            while isinstance(error, ExceptionGroup):
                (error,) = error.exceptions
            # The client keeps the status to itself; our code tells as much.
            understand(error.error.data, code)

    async with Client(URL, mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        return await visit(client, MCPError, stranger)


report("py2", partial(speaking, "legacy", "2025-11-25"), partial(speaking, "auto", "2026-07-28"))
