// What the scripts share: the chain, its accounts, the token. Everything is on the loopback interface.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createWalletClient, http, publicActions } from 'viem';
import { mnemonicToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';

export const HOST = '127.0.0.1';
export const CHAIN_ID = baseSepolia.id;
export const NETWORK = `eip155:${CHAIN_ID}`;
// The address of USDC on Base Sepolia: the stock client refuses to pay in tokens that it does not know.
export const TOKEN = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
export const MOCK = JSON.parse(readFileSync(new URL('MockUsdc.json', import.meta.url), 'utf8'));

// The mnemonic of the accounts to which anvil gives ether. Everybody knows it.
const MNEMONIC = 'test test test test test test test test test test test junk';
const account = (addressIndex) => mnemonicToAccount(MNEMONIC, { addressIndex });
export const FACILITATOR = account(0);
export const BUYER = account(1);
export const STRANGER = account(2);
export const SELLER = account(3);

export const chainUrl = (port) => `http://${HOST}:${port}`;

export function wallet(port, account) {
  const transport = http(chainUrl(port), { retryCount: 0 });
  return createWalletClient({ account, chain: baseSepolia, transport, pollingInterval: 100 }).extend(publicActions);
}

export function fail(usage) {
  console.error(`usage: node ${usage}`);
  process.exit(2);
}

// Serves handlers by "METHOD /path"; each gets the body and returns a status and a body.
export function serve(port, name, handlers) {
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const handler = handlers[`${request.method} ${request.url}`];
    const [status, answer] = handler
      ? await handler(body).catch((error) => [500, { error: String(error?.message ?? error) }])
      : [404, { error: 'not found' }];
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  });
  server.listen(port, HOST, () => console.log(`${name}: ready on http://${HOST}:${port}`));
}

// Ends when whoever started the script does.
export function endWithParent(cleanup = () => {}) {
  const end = () => {
    cleanup();
    process.exit(0);
  };
  process.on('SIGTERM', end).on('SIGINT', end);
  if (process.argv.includes('--end-with-stdin')) process.stdin.on('end', end).resume();
}
