// The session of every npm client: what an agent does at the demo store, and the refusals it meets. See shared.py.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { STORE_URL, STEPS_URL, PRODUCT_ID } = process.env;
const CALL_SECONDS = 20;
const CONNECT_SECONDS = 60;
const WRONG_KEY = 'agnt_test_0000000000000000000000000000000000000000000000000000';
const UNKNOWN_PRODUCT = 'prod_00000000000000000000000000000000';
const READ = ['get_merchant_profile', {}];

const report = { versions: {}, steps: {} };
let current;

// `connect({ url, headers, approve })` returns a session: `names` of the listed tools, `call(name, args)` with what the model
// sees, `convert()` and `close()`. `approve` is undefined or counts a request for approval and returns the person's answer.
// `elicitation` and `withoutKey` say why the framework has no callback for elicitation, or cannot send the header with the key.
export async function run(packages, connect, { elicitation, withoutKey } = {}) {
    for (const name of packages) report.versions[name] = versionOf(name);
    await wholeSession(connect, elicitation, withoutKey);
    process.stdout.write(`\nREPORT ${JSON.stringify(report)}\n`, () => process.exit(0));
}

function versionOf(name) {
    const modules = join(dirname(fileURLToPath(import.meta.url)), '../node_modules');
    return JSON.parse(readFileSync(join(modules, name, 'package.json'), 'utf8')).version;
}

async function begin(name) {
    await fetch(`${STEPS_URL}/${name}`, { method: 'POST' });
    current = report.steps[name] = { calls: [] };
}

function skip(name, reason) {
    report.steps[name] = { not_applicable: reason };
}

function within(seconds, promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Late()), seconds * 1000);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

class Late extends Error {}

// Calls a tool and returns the text that the model sees: the result, or the error that the framework throws.
async function call(session, tool, args) {
    const began = performance.now();
    const made = { tool, ended: 'returned', text: '' };
    try {
        const seen = await within(CALL_SECONDS, session.call(tool, args));
        made.text = typeof seen === 'string' ? seen : JSON.stringify(seen) ?? '';
    } catch (error) {
        made.ended = error instanceof Late ? 'timed out' : 'raised';
        made.text = String(error?.stack ? `${error.name}: ${error.message}` : error);
    }
    made.seconds = Math.round(performance.now() - began) / 1000;
    current.calls.push(made);
    return made.text;
}

// Returns the first match in a text in which quotes may be escaped more than once.
const find = (pattern, text) => text.replaceAll('\\', '').match(pattern)?.[1] ?? '';

async function opened(connect, headers, approve, use) {
    let session;
    try {
        session = await within(CONNECT_SECONDS, connect({ url: STORE_URL, headers, approve }));
    } catch (error) {
        current.connect_error = `${error?.name}: ${error?.message}`;
        return;
    }
    await use(session);
    try {
        await within(CALL_SECONDS, Promise.resolve(session.close?.()));
    } catch (error) {
        current.close_error = `${error?.name}: ${error?.message}`;
    }
}

async function wholeSession(connect, elicitation, withoutKey) {
    let product = '';
    let key = '';
    await begin('connect');
    await opened(connect, {}, undefined, async (session) => {
        [product, key] = await anonymous(session);
    });
    if (withoutKey) {
        for (const step of ['wrong-key', 'purchase', 'elicitation']) skip(step, withoutKey);
        return;
    }
    await begin('wrong-key');
    await opened(connect, { 'X-Agent-Api-Key': WRONG_KEY }, undefined, async (session) => {
        await call(session, ...READ);
        await call(session, ...READ);
    });
    const headers = { 'X-Agent-Api-Key': key };
    await begin('purchase');
    await opened(connect, headers, undefined, (session) => purchase(session, product));
    if (elicitation) return skip('elicitation', elicitation);
    await begin('elicitation');
    current.approvals = 0;
    const approve = () => {
        current.approvals += 1;
        return { approve: true };
    };
    await opened(connect, headers, approve, async (session) => {
        const cart = await call(session, 'create_cart', { items: [{ product_id: product, quantity: 2 }] });
        await call(session, 'complete_checkout', { cart_id: find(/\b(cart_[0-9a-f]{32})/, cart) });
    });
}

async function anonymous(session) {
    current.tools = session.names.length;
    await begin('convert');
    try {
        Object.assign(current, (await session.convert?.()) ?? { converted: session.names.length });
    } catch (error) {
        current.errors = [`${error?.name}: ${error?.message}`];
    }
    await begin('read');
    const found = await call(session, 'search_products', { query: 'coffee', in_stock_only: true, limit: 3 });
    const product = PRODUCT_ID || find(/\b(prod_[0-9a-f]{32})/, found);
    await call(session, 'get_product_details', { product_id: product });
    await begin('empty-arguments'); // Strict modes make every argument required: a model leaves one out with an empty text.
    await call(session, 'get_product_details', { product_id: product, sku: '', gtin: '', url: '' });
    await begin('unknown-product');
    await call(session, 'get_product_details', { product_id: UNKNOWN_PRODUCT });
    await call(session, ...READ);
    await begin('write-without-key');
    await call(session, 'create_cart', { items: [{ product_id: product, quantity: 1 }] });
    await call(session, ...READ);
    await begin('limit'); // The proof uses up the quota of the address.
    await call(session, ...READ);
    await begin('after-limit');
    await call(session, ...READ);
    await begin('sandbox-key');
    const created = await call(session, 'create_sandbox_key', {});
    return [product, find(/\b(agnt_[0-9A-Za-z_]{20,})/, created)];
}

async function purchase(session, product) {
    const cart = await call(session, 'create_cart', { items: [{ product_id: product, quantity: 1 }] });
    const cart_id = find(/\b(cart_[0-9a-f]{32})/, cart);
    await call(session, 'preview_checkout', { cart_id });
    const asked = await call(session, 'request_human_confirmation', { cart_id });
    await call(session, 'get_confirmation_status', { confirmation_id: find(/\b(cnf_[0-9a-f]{32})/, asked) });
    await call(session, 'complete_checkout', { cart_id });
}
