#!/usr/bin/env node
// node compile.mjs: compiles MockUsdc.sol into MockUsdc.json, which is committed.
import { readFileSync, writeFileSync } from 'node:fs';
import solc from 'solc';

const content = readFileSync(new URL('MockUsdc.sol', import.meta.url), 'utf8');
const settings = {
  optimizer: { enabled: true, runs: 200 },
  // Without the hash of the metadata, so that a comment does not change the code.
  metadata: { bytecodeHash: 'none', appendCBOR: false },
  outputSelection: { '*': { '*': ['abi', 'evm.deployedBytecode.object'] } },
};
const input = { language: 'Solidity', sources: { 'MockUsdc.sol': { content } }, settings };
const output = JSON.parse(solc.compile(JSON.stringify(input)));
for (const { formattedMessage } of output.errors ?? []) console.error(formattedMessage);
const contract = output.contracts?.['MockUsdc.sol']?.MockUsdc;
if (!contract) process.exit(1);
const { abi, evm } = contract;
const compiled = { compiler: solc.version(), abi, deployedBytecode: `0x${evm.deployedBytecode.object}` };
writeFileSync(new URL('MockUsdc.json', import.meta.url), `${JSON.stringify(compiled, null, 1)}\n`);
