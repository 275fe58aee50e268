"""Google Agent Development Kit: a toolset, with the tool context of an invocation."""

import contextlib

from google.adk.agents import Agent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.sessions import InMemorySessionService
from google.adk.tools import ToolContext
from google.adk.tools.mcp_tool import McpToolset, StreamableHTTPConnectionParams
from mcp.types import ElicitResult
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async def elicit(context, params):
        return ElicitResult(action="accept", content=approve())

    service = InMemorySessionService()
    session = await service.create_session(app_name="souk", user_id="person")
    invocation = InvocationContext(
        invocation_id="invocation", agent=Agent(name="buyer"), session=session, session_service=service)
    toolset = McpToolset(
        connection_params=StreamableHTTPConnectionParams(url=url, headers=headers, timeout=30),
        elicitation_callback=elicit if approve else None)
    tools = {tool.name: tool for tool in await toolset.get_tools()}

    async def call(name, arguments):
        return await tools[name].run_async(args=arguments, tool_context=ToolContext(invocation))

    def convert():
        return {"converted": len([tool._get_declaration() for tool in tools.values()])}

    yield Tools(tools, call, convert)
    await toolset.close()


run(["google-adk", "mcp"], connect)
