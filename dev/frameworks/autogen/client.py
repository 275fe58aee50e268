"""AutoGen: the workbench that an assistant agent uses."""

import contextlib

from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpMcpToolAdapter, StreamableHttpServerParams, mcp_server_tools
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    server = StreamableHttpServerParams(url=url, headers=headers)
    adapters = await mcp_server_tools(server)
    async with McpWorkbench(server) as workbench:
        listed = await workbench.list_tools()

        def convert():
            return {"converted": len([tool.schema for tool in adapters if isinstance(tool, StreamableHttpMcpToolAdapter)])}

        async def call(name, arguments):
            return (await workbench.call_tool(name, arguments)).to_text()

        yield Tools([tool["name"] for tool in listed], call, convert)


run(["autogen-ext", "autogen-core", "mcp"], connect, elicitation="no callback: McpWorkbench takes none")
