"""Pydantic AI: a toolset as an agent uses it. A refusal becomes a retry prompt for the model."""

import contextlib

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer
from pydantic_ai.usage import RunUsage
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async def elicit(message, response_type, params, context):
        return approve()

    context = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    async with MCPToolset(url, headers=headers, elicitation_handler=elicit if approve else None) as toolset:
        tools = await toolset.get_tools(context)

        def convert():
            for tool in tools.values():
                OpenAIJsonSchemaTransformer(tool.tool_def.parameters_json_schema, strict=True).walk()
            return {"converted": len(tools)}

        async def call(name, arguments):
            try:
                return await toolset.call_tool(name, arguments, context, tools[name])
            except ModelRetry as retry:
                return retry.message

        yield Tools(tools, call, convert)


run(["pydantic-ai-slim", "mcp"], connect)
