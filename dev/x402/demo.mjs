#!/usr/bin/env node
// node demo.mjs URL CHAIN_PORT EMAIL PASSWORD: an owner lets agents pay in tokens; an agent makes two purchases, with the client of the
// reference implementation. Fails unless exactly the totals moved from the buyer to the merchant.
import assert from 'node:assert/strict';
import { x402Client, x402HTTPClient, wrapFetchWithPayment } from '@x402/fetch';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { BUYER, MOCK, SELLER, TOKEN, fail, wallet } from './settings.mjs';

const [url, chainPort, email, password] = process.argv.slice(2);
if (!password) fail('demo.mjs URL CHAIN_PORT EMAIL PASSWORD');

const STORE = 'wiederlicht';
const log = (step, result) => console.log(`  ${step.padEnd(28)} ${result}`);
const balance = (account) =>
  wallet(Number(chainPort), BUYER).readContract({ address: TOKEN, abi: MOCK.abi, functionName: 'balanceOf', args: [account.address] });

async function rest(method, path, headers, body) {
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  assert.ok(response.ok, `${path}: ${JSON.stringify(answer)}`);
  return answer.data ?? answer;
}

async function mcp(name, args, key, meta) {
  const params = { name, arguments: args, ...(meta && { _meta: meta }) };
  const response = await fetch(`${url}/${STORE}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      ...(key && { 'x-agent-api-key': key }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  return (await response.json()).result;
}

const { token } = await rest('POST', '/auth/login', {}, { email, password });
const authorization = `Bearer ${token}`;
const settings = { x402: { pay_to: SELLER.address, unattended_limit: 500, eur_rate: '1.16' } };
await rest('PATCH', '/merchant/settings', { authorization, 'x-store': STORE }, settings);
const issued = await rest('POST', '/agent-keys', { authorization }, { name: 'demo', scopes: ['agent:read', 'agent:cart', 'agent:checkout'] });
const key = issued.api_key;
log('an owner accepts x402', SELLER.address);

const found = (await mcp('search_products', { query: 'lamp', in_stock_only: true })).structuredContent.data;

async function checkout() {
  const destination = { country: 'DE', postal_code: '10115', city: 'Berlin', street: 'Way 1' };
  const items = [{ product_id: found[0].id, quantity: 1 }];
  const body = { merchant_slug: STORE, items, destination, buyer: { name: 'Ada', email: 'ada@example.com' } };
  const session = await rest('POST', '/agent/checkout', { 'x-agent-api-key': key }, body);
  log('POST /agent/checkout', `${session.checkout_id}, ${session.totals.total} ${session.currency}`);
  return session.checkout_id;
}

// The client pays at most one dollar unless its user allows more.
const client = new x402Client().register('eip155:*', new ExactEvmScheme(BUYER)).setSpendControls({ maxAmountPerPayment: '$500' });
const http = new x402HTTPClient(client);
const before = [await balance(BUYER), await balance(SELLER)];
let moved = 0n;

const first = await checkout();
const response = await wrapFetchWithPayment(fetch, client)(`${url}/api/v1/agent/payment`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-agent-api-key': key },
  body: JSON.stringify({ checkout_id: first }),
});
const paid = await response.json();
assert.equal(response.status, 200, JSON.stringify(paid));
const settled = http.getPaymentSettleResponse((name) => response.headers.get(name));
assert.ok(settled.success && settled.transaction === paid.data.transaction);
moved += BigInt(paid.data.amount);
log('POST /agent/payment', `${paid.data.status}, ${paid.data.amount} units of USDC, ${paid.data.order_id}`);

const second = await checkout();
const unpaid = await mcp('process_agent_payment', { checkout_id: second }, key);
assert.ok(unpaid.isError, JSON.stringify(unpaid));
const payment = await client.createPaymentPayload(unpaid.structuredContent);
const result = await mcp('process_agent_payment', { checkout_id: second }, key, { 'x402/payment': payment });
assert.ok(!result.isError && result._meta['x402/payment-response'].success, JSON.stringify(result));
moved += BigInt(result.structuredContent.amount);
log('process_agent_payment', `${result.structuredContent.status}, ${result.structuredContent.order_id}`);

const again = await mcp('process_agent_payment', { checkout_id: second }, key, { 'x402/payment': payment });
assert.deepEqual(again, result, 'the same payment has the same result');
const status = await mcp('get_payment_status', { checkout_id: second }, key);
assert.equal(status.structuredContent.payment.status, 'settled');

const after = [await balance(BUYER), await balance(SELLER)];
assert.deepEqual([before[0] - after[0], after[1] - before[1]], [moved, moved]);
log('moved on the chain', `${moved} units of USDC, exactly the two totals`);
