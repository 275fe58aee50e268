#!/usr/bin/env node
// node vectors.mjs: writes crates/x402/tests/vectors.json, payments made by the client of the reference implementation. Time,
// nonces and keys are fixed, so that the file changes only if the client does.
import { writeFileSync } from 'node:fs';
import { x402Client, x402HTTPClient } from '@x402/core/client';
import { encodePaymentRequiredHeader, encodePaymentResponseHeader } from '@x402/core/http';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { authorizationTypes } from '@x402/evm';
import { hashTypedData } from 'viem';
import { BUYER, SELLER, STRANGER, TOKEN } from './settings.mjs';

const NOW = 1_800_000_000;
Date.now = () => NOW * 1_000;
let counter = 0;
crypto.getRandomValues = (bytes) => {
  counter += 1;
  return bytes.fill(counter);
};

const sepolia = (amount) => ({
  scheme: 'exact',
  network: 'eip155:84532',
  amount,
  asset: TOKEN,
  payTo: SELLER.address,
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
});
const base = (amount) => ({
  ...sepolia(amount),
  network: 'eip155:8453',
  asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  maxTimeoutSeconds: 120,
  extra: { name: 'USD Coin', version: '2', assetTransferMethod: 'eip3009' },
});
const identifier = {
  'payment-identifier': {
    info: { required: true },
    schema: { type: 'object', properties: { required: { type: 'boolean' }, id: { type: 'string' } } },
  },
};

function required(accepts, extensions) {
  const resource = { url: 'https://souk.example/api/v1/agent/payment', description: 'Bestellung – 注文 №7', mimeType: 'application/json' };
  return { x402Version: 2, error: 'payment required', resource, accepts: [accepts], ...(extensions && { extensions }) };
}

function digest(accepts, authorization, domain = {}) {
  const { name, version } = accepts.extra;
  const chainId = Number(accepts.network.split(':')[1]);
  return {
    domain: { name, version, chainId, verifyingContract: accepts.asset, ...domain },
    types: authorizationTypes,
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  };
}

const client = new x402HTTPClient(
  new x402Client().setSpendControls(false).register('eip155:*', new ExactEvmScheme(BUYER)),
);

async function pay(name, document) {
  const payload = await client.createPaymentPayload(document);
  const [accepts] = document.accepts;
  return {
    name,
    now: NOW,
    paymentRequired: encodePaymentRequiredHeader(document),
    paymentSignature: client.encodePaymentSignatureHeader(payload)['PAYMENT-SIGNATURE'],
    digest: hashTypedData(digest(accepts, payload.payload.authorization)),
    payer: BUYER.address,
  };
}

const payments = [
  await pay('sepolia', required(sepolia('10000'))),
  await pay('base', required(base('123456789'))),
  await pay('one unit', required(sepolia('1'))),
  await pay('128 bits', required(sepolia('340282366920938463463374607431768211455'))),
  await pay('extension', required(sepolia('250000'), identifier)),
];

// Signatures of the same authorization for another domain, or by another account.
const accepts = sepolia('10000');
const authorization = {
  from: BUYER.address,
  to: SELLER.address,
  value: '10000',
  validAfter: '0',
  validBefore: String(NOW + 60),
  nonce: `0x${'42'.repeat(32)}`,
};
const sign = (account, domain) => account.signTypedData(digest(accepts, authorization, domain));
const foreign = {
  'another chain': await sign(BUYER, { chainId: 8453 }),
  'another token': await sign(BUYER, { verifyingContract: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' }),
  'another name': await sign(BUYER, { name: 'USD Coin' }),
  'another version': await sign(BUYER, { version: '1' }),
  'another account': await sign(STRANGER, {}),
};
const signed = { accepted: accepts, authorization, signature: await sign(BUYER, {}), foreign };

const transaction = `0x${'ab'.repeat(32)}`;
const settled = { success: true, transaction, network: 'eip155:84532', payer: BUYER.address, amount: '10000' };
const refused = { success: false, errorReason: 'settlement_pending', transaction: '', network: 'eip155:84532' };
const responses = [settled, refused].map((response) => ({
  header: encodePaymentResponseHeader(response),
  json: response,
}));

const vectors = { made: '@x402/core, @x402/evm 2.27.0, viem 2.57.1', payments, signed, responses };
const file = new URL('../../crates/x402/tests/vectors.json', import.meta.url);
writeFileSync(file, `${JSON.stringify(vectors, null, 1)}\n`);
