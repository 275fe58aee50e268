// The command line of the MCP Inspector: a process, and so a session, for each call.
import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run } from '../shared.mjs';

const launcher = fileURLToPath(
    new URL('../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url),
);
const home = mkdtempSync(join(tmpdir(), 'inspector-'));

// Returns what is printed: the result, also if the tool failed. Without a result, the error.
function inspect(url, headers, ...args) {
    const named = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
    const all = [launcher, '--cli', url, '--transport', 'http', ...named, ...args];
    return new Promise((resolve, reject) => {
        execFile(process.execPath, all, { env: { ...process.env, HOME: home } }, (error, printed, errors) => {
            if (error && !printed) reject(new Error(errors));
            else resolve(printed);
        });
    });
}

async function connect({ url, headers }) {
    const { tools } = JSON.parse(await inspect(url, headers, '--method', 'tools/list'));
    return {
        names: tools.map(({ name }) => name),
        call(name, args) {
            const text = (value) => (typeof value === 'string' && value ? value : JSON.stringify(value));
            const given = Object.entries(args).map(([key, value]) => `${key}=${text(value)}`);
            const named = given.length ? ['--tool-arg', ...given] : [];
            return inspect(url, headers, '--method', 'tools/call', '--tool-name', name, ...named);
        },
    };
}

await run(['@modelcontextprotocol/inspector'], connect, { elicitation: 'no callback on the command line' });
