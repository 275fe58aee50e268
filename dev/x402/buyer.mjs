#!/usr/bin/env node
// node buyer.mjs URL [METHOD [JSON]]: requests a URL and pays if that is required, with the client of the reference
// implementation. Prints status, PAYMENT-RESPONSE and body.
import { x402Client, x402HTTPClient, wrapFetchWithPayment } from '@x402/fetch';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { BUYER, fail } from './settings.mjs';

const [url, method = 'GET', body] = process.argv.slice(2);
if (!url) fail('buyer.mjs URL [METHOD [JSON]]');

const client = new x402Client().register('eip155:*', new ExactEvmScheme(BUYER));
const headers = body ? { 'content-type': 'application/json' } : {};
const response = await wrapFetchWithPayment(fetch, client)(url, { method, body, headers });
const settlement = response.headers.has('payment-response')
  ? new x402HTTPClient(client).getPaymentSettleResponse((name) => response.headers.get(name))
  : null;
console.log(JSON.stringify({ status: response.status, settlement, body: await response.text() }));
