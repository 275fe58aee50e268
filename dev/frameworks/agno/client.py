"""Agno: function calls as an agent executes them, with strict schemas."""

import contextlib

from agno.tools.function import FunctionCall
from agno.tools.mcp import MCPTools, StreamableHTTPClientParams
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    server = StreamableHTTPClientParams(url=url, headers=headers)
    async with MCPTools(transport="streamable-http", server_params=server) as toolkit:
        tools = toolkit.functions

        def convert():
            for function in tools.values():
                function.process_entrypoint(strict=True)
            return {"converted": len([function.to_dict() for function in tools.values()])}

        async def call(name, arguments):
            executed = await FunctionCall(function=tools[name], arguments=arguments).aexecute()
            return executed.error or executed.result

        yield Tools(tools, call, convert)


run(["agno", "mcp"], connect, elicitation="no callback: MCPTools takes none")
