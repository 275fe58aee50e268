// How many tokens a model reads: the listing of the tools, and an answer. Fails above a limit.
// Every model counts differently; a public encoding (o200k_base) gives numbers that can be compared.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

// What is needed to find out (`?tools=discovery`), and everything there is.
const DISCOVERY_LIMIT = 6000;
const LISTING_LIMIT = 10000;
const ANSWER_LIMIT = 2500;

async function connected(address) {
    const client = new Client({ name: 'tokens', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(address)));
    return client;
}

const narrow = await connected(`${process.argv[2]}?tools=discovery`);
const discovery = (await narrow.listTools()).tools;
await narrow.close();
const client = await connected(process.argv[2]);
const { tools } = await client.listTools();
const answer = await client.callTool({ name: 'search_products', arguments: { query: 'coffee', limit: 10 } });
await client.close();

const count = (value) => countTokens(JSON.stringify(value));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

// What hosts show to a model. They keep output schemas to themselves.
const shown = ({ name, description, inputSchema }) => [name, count({ name, description, inputSchema })];
const total = (sizes) => sum(sizes.map(([, size]) => size));
const sizes = tools.map(shown);
const listing = total(sizes);
const finding = total(discovery.map(shown));
const outputs = sum(tools.map(({ outputSchema }) => count(outputSchema)));
const found = countTokens(answer.content[0].text);

console.log(`tokens: ${discovery.length} tools for finding out: ${finding} of ${DISCOVERY_LIMIT}`);
console.log(`tokens: all ${tools.length} tools: ${listing} of ${LISTING_LIMIT}`);
for (const [name, size] of sizes.sort((left, right) => right[1] - left[1]).slice(0, 5)) {
    console.log(`  ${String(size).padStart(5)}  ${name}`);
}
console.log(`tokens: their output schemas: ${outputs}`);
console.log(`tokens: ten products: ${found} of ${ANSWER_LIMIT}`);
if (answer.isError || finding >= DISCOVERY_LIMIT || listing >= LISTING_LIMIT || found >= ANSWER_LIMIT) process.exitCode = 1;
