#!/usr/bin/env node
// node facilitator.mjs PORT CHAIN_PORT [--confirmation-timeout-ms=N]: the facilitator of the reference implementation.
import { x402Facilitator } from '@x402/core/facilitator';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { ExactEvmScheme } from '@x402/evm/exact/facilitator';
import { FACILITATOR, NETWORK, endWithParent, fail, serve, wallet } from './settings.mjs';

const [port, chainPort] = process.argv.slice(2, 4).map(Number);
if (!port || !chainPort) fail('facilitator.mjs PORT CHAIN_PORT [--confirmation-timeout-ms=N] [--end-with-stdin]');
const option = process.argv.find((argument) => argument.startsWith('--confirmation-timeout-ms='));
const confirmationTimeoutMs = Number(option?.split('=')[1] ?? 20_000);

const client = wallet(chainPort, FACILITATOR);
const signer = toFacilitatorEvmSigner({ ...client, address: FACILITATOR.address }, { confirmationTimeoutMs });
const facilitator = new x402Facilitator();
facilitator.register(NETWORK, new ExactEvmScheme(signer));

const ask = (verb) => async (body) => {
  const { paymentPayload, paymentRequirements } = JSON.parse(body);
  return [200, await facilitator[verb](paymentPayload, paymentRequirements)];
};
endWithParent();
serve(port, 'facilitator', {
  'POST /verify': ask('verify'),
  'POST /settle': ask('settle'),
  'GET /supported': async () => [200, facilitator.getSupported()],
});
