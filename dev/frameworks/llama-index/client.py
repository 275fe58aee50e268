"""LlamaIndex: function tools, called as an agent calls them."""

import contextlib

from llama_index.core.tools.calling import acall_tool
from llama_index.tools.mcp import BasicMCPClient, McpToolSpec
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    client = BasicMCPClient(url, headers=headers)
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client=client).to_tool_list_async()}

    def convert():
        return {"converted": len([tool.metadata.to_openai_tool(skip_length_check=True) for tool in tools.values()])}

    async def call(name, arguments):
        return (await acall_tool(tools[name], arguments)).content

    yield Tools(tools, call, convert)


run(["llama-index-tools-mcp", "llama-index-core", "mcp"], connect, elicitation="no callback: BasicMCPClient takes none")
