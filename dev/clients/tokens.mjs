// Counts the tokens of the tool listing and of a tool result. Fails above a limit.
// Models use different tokenizers; a public encoding (o200k_base) gives comparable numbers.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

// The tool set `?tools=discovery`, all tools, a search result, and a trust history.
const DISCOVERY_LIMIT = 6000;
const LISTING_LIMIT = 10000;
const ANSWER_LIMIT = 2500;
const HISTORY_LIMIT = 1000;

async function connected(address) {
    const client = new Client({ name: 'tokens', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(address)));
    return client;
}

const discoveryClient = await connected(`${process.argv[2]}?tools=discovery`);
const discovery = (await discoveryClient.listTools()).tools;
await discoveryClient.close();
const client = await connected(process.argv[2]);
const { tools } = await client.listTools();
const answer = await client.callTool({ name: 'search_products', arguments: { query: 'coffee', limit: 10 } });
const history = await client.callTool({ name: 'get_trust_history', arguments: {} });
await client.close();

const count = (value) => countTokens(JSON.stringify(value));
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

// What hosts pass to a model. They do not pass output schemas.
const shown = ({ name, description, inputSchema }) => [name, count({ name, description, inputSchema })];
const total = (sizes) => sum(sizes.map(([, size]) => size));
const sizes = tools.map(shown);
const listing = total(sizes);
const discoverySize = total(discovery.map(shown));
const found = countTokens(answer.content[0].text);
const past = countTokens(history.content[0].text);

console.log(`tokens: ${discovery.length} discovery tools: ${discoverySize} of ${DISCOVERY_LIMIT}`);
console.log(`tokens: all ${tools.length} tools: ${listing} of ${LISTING_LIMIT}`);
for (const [name, size] of sizes.sort((left, right) => right[1] - left[1]).slice(0, 5)) {
    console.log(`  ${String(size).padStart(5)}  ${name}`);
}
console.log(`tokens: a search result with ten products: ${found} of ${ANSWER_LIMIT}`);
console.log(`tokens: a trust history: ${past} of ${HISTORY_LIMIT}`);
const isTooLong = discoverySize >= DISCOVERY_LIMIT || listing >= LISTING_LIMIT || found >= ANSWER_LIMIT || past > HISTORY_LIMIT;
if (answer.isError || history.isError || isTooLong) process.exitCode = 1;
