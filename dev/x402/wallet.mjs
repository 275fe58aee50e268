#!/usr/bin/env node
// node wallet.mjs PORT CHAIN_PORT: what the buyer and strangers do in tests.
//   POST /pay     the header PAYMENT-REQUIRED → the header PAYMENT-SIGNATURE, made by the reference implementation
//   POST /sign    an authorization → its signature by the buyer
//   POST /cancel  { nonce } → the hash of the transaction in which the buyer cancels an authorization
//   POST /submit  { authorization, signature } → the hash of the transaction in which a stranger executes it
import { x402Client, x402HTTPClient } from '@x402/core/client';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { authorizationTypes } from '@x402/evm';
import { parseSignature } from 'viem';
import { BUYER, CHAIN_ID, MOCK, STRANGER, TOKEN, endWithParent, fail, serve, wallet } from './settings.mjs';

const [port, chainPort] = process.argv.slice(2, 4).map(Number);
if (!port || !chainPort) fail('wallet.mjs PORT CHAIN_PORT [--end-with-stdin]');

const client = new x402HTTPClient(new x402Client().register('eip155:*', new ExactEvmScheme(BUYER)));
const domain = { name: 'USDC', version: '2', chainId: CHAIN_ID, verifyingContract: TOKEN };
const cancelTypes = {
  CancelAuthorization: [
    { name: 'authorizer', type: 'address' },
    { name: 'nonce', type: 'bytes32' },
  ],
};

async function send(account, functionName, args) {
  // Without an estimate, so that a transaction that will be reverted is sent too.
  const call = { address: TOKEN, abi: MOCK.abi, functionName, args, gas: 200_000n };
  return [200, await wallet(chainPort, account).writeContract(call)];
}

function split(signature) {
  const { r, s, v } = parseSignature(signature);
  return [Number(v), r, s];
}

endWithParent();
serve(port, 'wallet', {
  'POST /pay': async (header) => {
    const required = client.getPaymentRequiredResponse((name) => (name === 'PAYMENT-REQUIRED' ? header : null));
    const headers = client.encodePaymentSignatureHeader(await client.createPaymentPayload(required));
    return [200, headers['PAYMENT-SIGNATURE']];
  },
  'POST /sign': async (body) => {
    const message = JSON.parse(body);
    const signed = { domain, types: authorizationTypes, primaryType: 'TransferWithAuthorization', message };
    return [200, await BUYER.signTypedData(signed)];
  },
  'POST /cancel': async (body) => {
    const message = { authorizer: BUYER.address, nonce: JSON.parse(body).nonce };
    const signed = { domain, types: cancelTypes, primaryType: 'CancelAuthorization', message };
    const signature = split(await BUYER.signTypedData(signed));
    return send(BUYER, 'cancelAuthorization', [message.authorizer, message.nonce, ...signature]);
  },
  'POST /submit': async (body) => {
    const { authorization, signature } = JSON.parse(body);
    const { from, to, value, validAfter, validBefore, nonce } = authorization;
    const args = [from, to, value, validAfter, validBefore, nonce, ...split(signature)];
    return send(STRANGER, 'transferWithAuthorization', args);
  },
});
