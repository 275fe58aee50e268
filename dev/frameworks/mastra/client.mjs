// Mastra: the tools that an agent takes.
import { MCPClient } from '@mastra/mcp';
import { run } from '../shared.mjs';

let sessions = 0;

async function connect({ url, headers, approve }) {
    const server = { url: new URL(url), requestInit: { headers } };
    if (approve) server.inputRequests = async () => ({ action: 'accept', content: approve() });
    sessions += 1;
    const client = new MCPClient({ id: `session-${sessions}`, servers: { store: server } });
    const { store: tools } = await client.listToolsets();
    const names = Object.keys(tools);
    return {
        names,
        convert: () => ({ converted: names.filter((name) => tools[name].inputSchema).length }),
        call: (name, args) => tools[name].execute(args, {}),
        close: () => client.disconnect(),
    };
}

await run(['@mastra/mcp', '@mastra/core', '@modelcontextprotocol/client'], connect);
