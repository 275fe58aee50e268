// The official TypeScript client, the older line, stock.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { report, visit } from './visit.mjs';

async function connect(url) {
    const client = new Client({ name: 'ts1', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
}

const refusal = ({ code, message }) => ({ status: code, text: message.slice(message.indexOf('{')) });

await report('ts1', [() => visit(process.argv[2], connect, refusal)]);
