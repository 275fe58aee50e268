// The session of every TypeScript client with a store: all tools, resources and prompts, and all kinds of errors.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const examples = JSON.parse(readFileSync(new URL('examples.json', import.meta.url), 'utf8'));
const names = (list) => list.map(({ name }) => name).sort();

// Runs the sessions and prints one line; fails if one failed, or if the client printed anything.
export async function report(client, sessions) {
    const printed = [];
    const [out, err] = [process.stdout.write, process.stderr.write];
    process.stdout.write = process.stderr.write = (text) => printed.push(String(text));
    let counts;
    let errors = 0;
    try {
        for (const session of sessions) {
            counts = await session();
            errors += counts.errors;
        }
        await new Promise((done) => setTimeout(done, 50)); // Node prints warnings asynchronously.
    } finally {
        process.stdout.write = out;
        process.stderr.write = err;
    }
    assert.equal(printed.join(''), '', `${client} printed something`);
    const { tools, resources, prompts } = counts;
    console.log(`${client}: ${tools} tools, ${resources} resources, ${prompts} prompts, ${errors} errors`);
}

// `connect` returns a connected client; `readError` returns status and text of the error that it throws for an HTTP error.
export async function runSession(url, connect, readError) {
    const client = await connect(url);
    const tools = await useTools(client);
    const resources = await readResources(client);
    const prompts = await getPrompts(client);
    const errors = [
        ...examples.errors.map((wrong) => () => provoke(client, wrong)),
        () => fails(() => client.readResource({ uri: 'souk://demo-store/nothing' }), -32602, -32002),
        () => fails(() => client.getPrompt({ name: 'no_such_prompt' }), -32602),
        () => fails(() => client.getPrompt({ name: Object.keys(examples.prompts)[0] }), -32602),
        ...examples.stores.map((store) => () => unknownStore(url, store, connect, readError)),
    ];
    for (const error of errors) {
        await error();
        await stillWorks(client);
    }
    await client.close();
    return { tools, resources, prompts, errors: errors.length };
}

async function useTools(client) {
    const { tools } = await client.listTools();
    // Tools that require a key or a cart are only listed here; the tests of the whole application call them.
    const known = [...Object.keys(examples.tools), ...examples.keyed].sort();
    assert.deepEqual(names(tools), known, 'tools/list and examples.json differ');
    for (const [name, args] of Object.entries(examples.tools)) {
        // The clients validate the result against the output schema and throw.
        const { isError, content, structuredContent } = await client.callTool({ name, arguments: args });
        assert.ok(!isError, `${name}: ${content[0]?.text}`);
        assert.ok(structuredContent, `${name}: no structured content`);
        assert.deepEqual(JSON.parse(content[0].text), structuredContent, `${name}: text and structured content differ`);
    }
    return tools.length;
}

async function readResources(client) {
    const { resources } = await client.listResources();
    for (const { uri, mimeType } of resources) {
        const [content] = (await client.readResource({ uri })).contents;
        assert.equal(content.uri, uri);
        assert.equal(content.mimeType, mimeType, uri);
        assert.ok(content.text.length > 300, `${uri}: ${content.text}`);
        if (mimeType === 'application/json') JSON.parse(content.text);
    }
    return resources.length;
}

async function getPrompts(client) {
    const { prompts } = await client.listPrompts();
    assert.deepEqual(names(prompts), Object.keys(examples.prompts).sort());
    for (const [name, args] of Object.entries(examples.prompts)) {
        const [message] = (await client.getPrompt({ name, arguments: args })).messages;
        assert.equal(message.role, 'user');
        assert.ok(message.content.text.includes(Object.values(args)[0]), `${name}: ${message.content.text}`);
    }
    return prompts.length;
}

async function provoke(client, { tool, arguments: args, code }) {
    const call = () => client.callTool({ name: tool, arguments: args });
    if (typeof code === 'number') return fails(call, code);
    const { isError, content, structuredContent } = await call();
    const what = `${tool} ${JSON.stringify(args)}: ${content[0]?.text}`;
    assert.equal(isError, true, what);
    assert.equal(structuredContent, undefined, what);
    checkError(JSON.parse(content[0].text), code);
}

// Expects a protocol error with one of these codes.
async function fails(call, ...codes) {
    const error = await call().then((answer) => assert.fail(`no error: ${JSON.stringify(answer)}`), (error) => error);
    assert.ok(codes.includes(error.code), error);
    assert.ok(error.message.length > 10, error);
}

// Expects an HTTP error from a store that does not exist.
async function unknownStore(url, { slug, status, code }, connect, readError) {
    const address = new URL(`/${slug}/mcp`, url);
    const error = await connect(address).then(() => assert.fail(`connected to ${slug}`), (error) => error);
    const read = readError(error);
    assert.equal(read.status, status, error);
    checkError(JSON.parse(read.text).error.data, code);
}

function checkError(envelope, code) {
    assert.equal(envelope.error, code, JSON.stringify(envelope));
    assert.ok(envelope.message.length > 10, JSON.stringify(envelope));
    assert.match(envelope.details.request_id, /^req_/);
}

async function stillWorks(client) {
    const { isError, structuredContent } = await client.callTool({ name: 'get_merchant_profile', arguments: {} });
    assert.ok(!isError && structuredContent, 'the connection did not survive an error');
}
