// The official TypeScript client, stock, in the old and in the new version of the protocol.
import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { report, visit } from './visit.mjs';

const speaking = (mode, version) => async (url) => {
    const client = new Client({ name: 'ts2', version: '1' }, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    return client;
};

const refusal = ({ status, data }) => ({ status, text: data.text });

await report('ts2', [
    () => visit(process.argv[2], speaking('legacy', '2025-11-25'), refusal),
    () => visit(process.argv[2], speaking('auto', '2026-07-28'), refusal),
]);
