"""LangChain: tools from a client that opens a session for each call."""

import contextlib

from langchain_core.tools import ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.types import ElicitResult
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async def elicit(mcp_context, params, context):
        return ElicitResult(action="accept", content=approve())

    server = {"transport": "streamable_http", "url": url, "headers": headers}
    client = MultiServerMCPClient({"store": server}, callbacks=Callbacks(on_elicitation=elicit if approve else None))
    tools = {tool.name: tool for tool in await client.get_tools()}

    def convert():
        converted = [convert_to_openai_tool(tool, strict=True) for tool in tools.values()]
        return {"converted": len(converted), "strict": sum(tool["function"]["strict"] for tool in converted)}

    async def call(name, arguments):
        try:
            return await tools[name].ainvoke(arguments)
        except ToolException as error:
            return str(error)

    yield Tools(tools, call, convert)


run(["langchain-mcp-adapters", "langchain-core", "mcp"], connect)
