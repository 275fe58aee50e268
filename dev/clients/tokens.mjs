// How many tokens a model reads: the listing of the tools, and an answer. Fails above a limit.
// Every model counts differently; a public encoding (o200k_base) gives numbers that can be compared.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

const LISTING_LIMIT = 6000;
const ANSWER_LIMIT = 2500;

const client = new Client({ name: 'tokens', version: '1' });
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
const { tools } = await client.listTools();
const answer = await client.callTool({ name: 'search_products', arguments: { query: 'coffee', limit: 10 } });
await client.close();

const count = (value) => countTokens(JSON.stringify(value));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

// What hosts show to a model. They keep output schemas to themselves.
const sizes = tools.map(({ name, description, inputSchema }) => [name, count({ name, description, inputSchema })]);
const listing = sum(sizes.map(([, size]) => size));
const outputs = sum(tools.map(({ outputSchema }) => count(outputSchema)));
const found = countTokens(answer.content[0].text);

console.log(`tokens: ${tools.length} tools: ${listing} of ${LISTING_LIMIT}`);
for (const [name, size] of sizes.sort((left, right) => right[1] - left[1]).slice(0, 5)) {
    console.log(`  ${String(size).padStart(5)}  ${name}`);
}
console.log(`tokens: their output schemas: ${outputs}`);
console.log(`tokens: ten products: ${found} of ${ANSWER_LIMIT}`);
if (answer.isError || listing >= LISTING_LIMIT || found >= ANSWER_LIMIT) process.exitCode = 1;
