// AI SDK: the tools that `generateText` takes.
import { createMCPClient, ElicitationRequestSchema } from '@ai-sdk/mcp';
import { run } from '../shared.mjs';

async function connect({ url, headers, approve }) {
    const capabilities = approve ? { elicitation: {} } : {};
    const client = await createMCPClient({ transport: { type: 'http', url, headers }, capabilities });
    if (approve) {
        client.onElicitationRequest(ElicitationRequestSchema, () => ({ action: 'accept', content: approve() }));
    }
    const tools = await client.tools();
    const names = Object.keys(tools);
    return {
        names,
        async convert() {
            for (const name of names) await tools[name].inputSchema.jsonSchema;
            return { converted: names.length };
        },
        async call(name, args) {
            const output = await tools[name].execute(args, { toolCallId: 'call', messages: [] });
            return tools[name].toModelOutput ? tools[name].toModelOutput({ toolCallId: 'call', input: args, output }) : output;
        },
        close: () => client.close(),
    };
}

await run(['@ai-sdk/mcp'], connect);
