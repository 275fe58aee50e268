"""CrewAI: its tools as a crew runs them."""

import asyncio
import contextlib

from crewai.utilities.agent_utils import convert_tools_to_openai_schema
from crewai_tools import MCPServerAdapter
from shared import Tools, in_thread, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    server = {"url": url, "transport": "streamable-http", "headers": headers}
    async with in_thread(MCPServerAdapter(server)) as listed:
        tools = {tool.name: tool for tool in listed}

        async def call(name, arguments):
            return await asyncio.to_thread(tools[name].run, **arguments)

        def convert():
            return {"converted": len(convert_tools_to_openai_schema(listed)[0])}

        yield Tools(tools, call, convert)


run(["crewai-tools", "crewai", "mcpadapt", "mcp"], connect, elicitation="no callback: MCPServerAdapter takes none")
