// LangChain: structured tools, converted as for OpenAI.
import { convertToOpenAITool } from '@langchain/core/utils/function_calling';
import { MultiServerMCPClient } from '@langchain/mcp-adapters';
import { run } from '../shared.mjs';

async function connect({ url, headers }) {
    const client = new MultiServerMCPClient({ mcpServers: { store: { transport: 'http', url, headers } } });
    const tools = await client.getTools();
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    return {
        names: [...byName.keys()],
        convert: () => ({ converted: tools.map((tool) => convertToOpenAITool(tool)).length }),
        call: (name, args) => byName.get(name).invoke(args),
        close: () => client.close(),
    };
}

await run(['@langchain/mcp-adapters', '@langchain/core', '@modelcontextprotocol/sdk'], connect, {
    elicitation: 'no callback: MultiServerMCPClient takes none',
});
