"""The official Python client, unmodified, with both protocol versions."""

import sys
from functools import partial
from urllib.parse import urljoin

from mcp import Client, MCPError
from session import check_error, report, run_session

URL = sys.argv[1]


async def connect_with(mode, version):
    async def unknown_store(slug, status, code):
        try:
            async with Client(urljoin(URL, f"/{slug}/mcp"), mode=mode):
                raise AssertionError(f"connected to {slug}")
        except* MCPError as group:
            error = group
            while isinstance(error, ExceptionGroup):
                (error,) = error.exceptions
            # The client does not expose the status; the error code implies it.
            check_error(error.error.data, code)

    async with Client(URL, mode=mode) as client:
        assert client.protocol_version == version, client.protocol_version
        return await run_session(client, MCPError, unknown_store)


report("py2", partial(connect_with, "legacy", "2025-11-25"), partial(connect_with, "auto", "2026-07-28"))
