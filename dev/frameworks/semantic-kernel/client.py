"""Semantic Kernel: a plugin, with function calls as a model makes them."""

import contextlib
import json

from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_calling_utils import kernel_function_metadata_to_function_call_format
from semantic_kernel.connectors.mcp import MCPStreamableHttpPlugin
from semantic_kernel.contents import ChatHistory, FunctionCallContent
from shared import Tools, run


@contextlib.asynccontextmanager
async def connect(url, headers, approve):
    async with MCPStreamableHttpPlugin(name="store", url=url, headers=headers, load_prompts=False) as server:
        kernel = Kernel()
        functions = kernel.add_plugin(server).functions

        def convert():
            formats = [kernel_function_metadata_to_function_call_format(it.metadata) for it in functions.values()]
            return {"converted": len(formats)}

        async def call(name, arguments):
            history = ChatHistory()
            asked = FunctionCallContent(id="call", name=f"store-{name}", arguments=json.dumps(arguments))
            await kernel.invoke_function_call(asked, history)
            return str(history.messages[-1].items[0].result)

        yield Tools(functions, call, convert)


run(["semantic-kernel", "mcp"], connect, elicitation="no callback: MCPStreamableHttpPlugin takes none")
