// OpenAI Agents SDK: function tools with strict schemas, invoked as a run invokes them.
import { Agent, getAllMcpTools, invokeFunctionTool, MCPServerStreamableHttp, RunContext } from '@openai/agents';
import { run } from '../shared.mjs';

async function connect({ url, headers }) {
    const server = new MCPServerStreamableHttp({ url, requestInit: { headers }, name: 'store' });
    await server.connect();
    const runContext = new RunContext();
    const agent = new Agent({ name: 'buyer', mcpServers: [server] });
    const tools = await getAllMcpTools({ mcpServers: [server], runContext, agent, convertSchemasToStrict: true });
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    return {
        names: [...byName.keys()],
        convert() {
            const loose = tools.filter(({ strict }) => !strict).map(({ name }) => name);
            return { converted: tools.length, strict: tools.length - loose.length, not_strict: loose };
        },
        call: (name, args) => invokeFunctionTool({ tool: byName.get(name), runContext, input: JSON.stringify(args) }),
        close: () => server.close(),
    };
}

await run(['@openai/agents', '@modelcontextprotocol/client'], connect, {
    elicitation: 'no callback: MCPServerStreamableHttp takes none',
});
