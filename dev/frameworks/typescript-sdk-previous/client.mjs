// The official TypeScript client, previous major version.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { run } from '../shared.mjs';

async function connect({ url, headers, approve }) {
    const client = new Client({ name: 'souk', version: '1' }, { capabilities: approve ? { elicitation: {} } : {} });
    if (approve) client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: approve() }));
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    return {
        names: tools.map(({ name }) => name),
        call: (name, args) => client.callTool({ name, arguments: args }),
        close: () => client.close(),
    };
}

await run(['@modelcontextprotocol/sdk'], connect);
