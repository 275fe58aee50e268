// The official TypeScript client, unmodified, with both protocol versions.
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { report, runSession } from './session.mjs';

const connectWith = (mode, version) => async (url) => {
    const client = new Client({ name: 'ts2', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    return client;
};

const readError = ({ status, data }) => ({ status, text: data.text });

await report('ts2', [
    () => runSession(process.argv[2], connectWith('legacy', '2025-11-25'), readError),
    () => runSession(process.argv[2], connectWith('auto', '2026-07-28'), readError),
]);
