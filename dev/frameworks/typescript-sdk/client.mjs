// The official TypeScript client, with the newest protocol version.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { run } from '../shared.mjs';

async function connect({ url, headers, approve }) {
    const capabilities = approve ? { elicitation: { form: {} } } : {};
    const client = new Client({ name: 'souk', version: '1' }, { capabilities, versionNegotiation: { mode: 'auto' } });
    if (approve) client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: approve() }));
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    return {
        names: tools.map(({ name }) => name),
        call: (name, args) => client.callTool({ name, arguments: args }),
        close: () => client.close(),
    };
}

await run(['@modelcontextprotocol/client'], connect);
