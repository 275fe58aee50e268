// The official TypeScript client, previous major version, unmodified.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { report, runSession } from './session.mjs';

async function connect(url) {
    const client = new Client({ name: 'ts1', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
}

const readError = ({ code, message }) => ({ status: code, text: message.slice(message.indexOf('{')) });

await report('ts1', [() => runSession(process.argv[2], connect, readError)]);
