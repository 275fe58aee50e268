// mcp-use: the session that its agent uses.
import { MCPClient } from 'mcp-use/client';
import { run } from '../shared.mjs';

async function connect({ url, headers, approve }) {
    const options = approve ? { onElicitation: async () => ({ action: 'accept', content: approve() }) } : {};
    const client = new MCPClient({ mcpServers: { store: { url, headers } } }, options);
    const session = await client.createSession('store');
    const tools = await session.listTools();
    return {
        names: tools.map(({ name }) => name),
        call: (name, args) => session.callTool(name, args),
        close: () => client.closeAllSessions(),
    };
}

await run(['mcp-use', '@modelcontextprotocol/sdk'], connect);
