"""mcp-use: the tools that its agent gives to LangChain."""

import contextlib

from langchain_core.utils.function_calling import convert_to_openai_tool
from mcp.types import ElicitResult
from mcp_use import MCPClient
from mcp_use.agents.adapters.langchain_adapter import LangChainAdapter
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async def elicit(context, params):
        return ElicitResult(action="accept", content=approve())

    servers = {"mcpServers": {"store": {"url": url, "headers": headers}}}
    client = MCPClient(servers, elicitation_callback=elicit if approve else None)
    session = await client.create_session("store")
    names = [tool.name for tool in await session.list_tools()]
    adapter = LangChainAdapter()
    await adapter.create_all(client)
    tools = {tool.name: tool for tool in adapter.tools}

    def convert():
        return {"converted": len([convert_to_openai_tool(tool) for tool in tools.values()])}

    async def call(name, arguments):
        return await tools[name].ainvoke(arguments)

    yield Tools(names, call, convert)
    await client.close_all_sessions()


run(["mcp-use", "mcp"], connect)
