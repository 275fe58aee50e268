"""OpenAI Agents SDK: function tools with strict schemas."""

import contextlib
import json

from agents import Agent, FunctionTool, RunContextWrapper
from agents.mcp import MCPServerStreamableHttp, MCPUtil
from agents.tool_context import ToolContext
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    params = {"url": url, "headers": headers, "timeout": 30}
    async with MCPServerStreamableHttp(params=params, client_session_timeout_seconds=30) as server:
        agent = Agent(name="buyer", mcp_servers=[server])
        listed = await MCPUtil.get_function_tools(server, True, RunContextWrapper(None), agent)
        tools = {tool.name: tool for tool in listed if isinstance(tool, FunctionTool)}

        def convert():
            loose = [name for name, tool in tools.items() if not tool.strict_json_schema]
            return {"converted": len(tools), "strict": len(tools) - len(loose), "not_strict": loose}

        async def call(name, arguments):
            text = json.dumps(arguments)
            context = ToolContext(None, tool_name=name, tool_call_id="call", tool_arguments=text, agent=agent)
            return await tools[name].on_invoke_tool(context, text)

        yield Tools([tool.name for tool in listed], call, convert)


run(["openai-agents", "mcp"], connect, elicitation="no callback: MCPServerStreamableHttp takes none")
