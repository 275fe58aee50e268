#!/usr/bin/env node
// node chain.mjs PORT: a chain with the id of Base Sepolia, the token at the address of USDC, and a buyer who has 1,000 of it.
// With --end-with-stdin it ends when its standard input is closed, like the other scripts.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { BUYER, CHAIN_ID, FACILITATOR, HOST, MOCK, TOKEN, chainUrl, endWithParent, fail, wallet } from './settings.mjs';

const port = Number(process.argv[2]);
if (!port) fail('chain.mjs PORT [--end-with-stdin]');

const binaries = `@foundry-rs/anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
const manifest = createRequire(import.meta.url).resolve(`${binaries}/package.json`);
const anvil = join(dirname(manifest), 'bin', 'anvil');
const options = ['--host', HOST, '--port', String(port), '--chain-id', String(CHAIN_ID), '--silent'];
const chain = spawn(anvil, options, { stdio: ['ignore', 'inherit', 'inherit'] });
chain.on('exit', (code) => process.exit(code ?? 1));
endWithParent(() => chain.kill('SIGTERM'));

const client = wallet(port, FACILITATOR);
for (let attempt = 0; ; attempt += 1) {
  try {
    if ((await client.getChainId()) === CHAIN_ID) break;
  } catch (error) {
    if (attempt > 600) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, 100));
}
await client.request({ method: 'anvil_setCode', params: [TOKEN, MOCK.deployedBytecode] });
const mint = { address: TOKEN, abi: MOCK.abi, functionName: 'mint', args: [BUYER.address, 1_000_000_000n] };
await client.waitForTransactionReceipt({ hash: await client.writeContract(mint) });
console.log(`chain: ready on ${chainUrl(port)}`);
