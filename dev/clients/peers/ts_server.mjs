// get_product_details written with the official TypeScript SDK, for comparison in the benchmark.
import { createServer } from 'node:http';
import {
    localhostHostValidation,
    localhostOriginValidation,
    NodeStreamableHTTPServerTransport,
} from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/server';
import pg from 'pg';
import * as z from 'zod';

const port = Number(process.env.PORT);
const siteUrl = `http://127.0.0.1:${port}`;
const digits = { USDC: 6 }; // All other currencies have two.
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL });

const PRODUCT = `
    SELECT p.merchant_id, p.product_id, p.name, p.description, p.price_minor, p.list_price_minor, p.currency,
           p.stock_status, p.stock_quantity, p.sku, p.brand, p.gtin, p.mpn, p.url, p.condition,
           p.rating_hundredths, p.rating_count, p.attributes, p.images, p.policies, p.listed_at, p.updated_at,
           c.path AS category_path, c.name AS category_name, s.slug, s.currency AS store_currency, t.score,
           o.return_window_days, o.free_shipping_threshold_minor, o.shipping_days_min, o.shipping_days_max,
           o.return_summary, o.shipping_summary, o.privacy_url, o.terms_url, o.warranty_months
    FROM product p
    JOIN category c USING (merchant_id, category_id)
    JOIN store s USING (merchant_id)
    LEFT JOIN store_policy o USING (merchant_id)
    LEFT JOIN standing t USING (merchant_id)
    WHERE p.product_id = $1 AND p.retired_at IS NULL`;

const VARIANTS = `
    SELECT variant_id, sku, name, options, price_minor, list_price_minor, stock_status, stock_quantity, image, gtin
    FROM variant
    WHERE merchant_id = $1 AND product_id = $2
    ORDER BY place`;

const inputSchema = z.object({ product_id: z.string() });

const outputSchema = z.object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    price: z.number(),
    currency: z.string(),
    stock_status: z.string(),
    merchant: z.object({
        slug: z.string(),
        trust_score: z.number().nullable(),
        verification_level: z.string().nullable(),
    }),
    policies: z.object({
        return_window_days: z.number().optional(),
        free_shipping_threshold: z.number().optional(),
        shipping_estimate_days: z.string().optional(),
        return_summary: z.string().optional(),
        shipping_summary: z.string().optional(),
        privacy_url: z.string().optional(),
        terms_url: z.string().optional(),
        warranty_months: z.number().optional(),
    }),
    sku: z.string(),
    brand: z.string(),
    gtin: z.string().optional(),
    mpn: z.string().optional(),
    url: z.string().optional(),
    category: z.object({ path: z.string(), name: z.string() }),
    condition: z.string(),
    list_price: z.number().optional(),
    available_quantity: z.number().optional(),
    rating: z.object({ average: z.number(), count: z.number(), source: z.string() }).optional(),
    attributes: z.record(z.string(), z.string()),
    images: z.array(z.object({ url: z.string(), alt: z.string() })),
    variants: z.array(
        z.object({
            id: z.string(),
            sku: z.string(),
            name: z.string(),
            options: z.record(z.string(), z.string()),
            price: z.number(),
            list_price: z.number().optional(),
            stock_status: z.string(),
            available_quantity: z.number().optional(),
            image: z.string().optional(),
            gtin: z.string().optional(),
        }),
    ),
    listed_at: z.string(),
    updated_at: z.string(),
});

const identifier = (kind, uuid) => `${kind}_${uuid.replaceAll('-', '')}`;
const amount = (minor, currency) => (minor === null ? undefined : Number(minor) / 10 ** (digits[currency] ?? 2));

function level(score) {
    if (score === null) return null;
    if (score >= 0.95) return 'ELITE';
    if (score >= 0.85) return 'VERIFIED';
    if (score >= 0.7) return 'STANDARD';
    if (score >= 0.5) return 'CAUTION';
    return 'RESTRICTED';
}

function policiesOf(row) {
    const [least, most] = row.policies.shipping_days ?? [row.shipping_days_min, row.shipping_days_max];
    return {
        return_window_days: row.policies.return_window_days ?? row.return_window_days ?? undefined,
        free_shipping_threshold: amount(row.free_shipping_threshold_minor, row.store_currency),
        shipping_estimate_days: least === null ? undefined : `${least}-${most}`,
        return_summary: row.return_summary ?? undefined,
        shipping_summary: row.shipping_summary ?? undefined,
        privacy_url: row.privacy_url ?? undefined,
        terms_url: row.terms_url ?? undefined,
        warranty_months: row.policies.warranty_months ?? row.warranty_months ?? undefined,
    };
}

const variantOf = (row, currency) => ({
    id: identifier('var', row.variant_id),
    sku: row.sku,
    name: row.name,
    options: row.options,
    price: amount(row.price_minor, currency),
    list_price: amount(row.list_price_minor, currency),
    stock_status: row.stock_status,
    available_quantity: row.stock_quantity ?? undefined,
    image: row.image ?? undefined,
    gtin: row.gtin ?? undefined,
});

const productOf = (row, variants) => ({
    id: identifier('prod', row.product_id),
    name: row.name,
    description: row.description,
    price: amount(row.price_minor, row.currency),
    currency: row.currency,
    stock_status: row.stock_status,
    merchant: { slug: row.slug, trust_score: row.score, verification_level: level(row.score) },
    policies: policiesOf(row),
    sku: row.sku,
    brand: row.brand,
    gtin: row.gtin ?? undefined,
    mpn: row.mpn ?? undefined,
    url: row.url ?? undefined,
    category: { path: row.category_path, name: row.category_name },
    condition: row.condition,
    list_price: amount(row.list_price_minor, row.currency),
    available_quantity: row.stock_quantity ?? undefined,
    rating:
        row.rating_hundredths === null
            ? undefined
            : { average: row.rating_hundredths / 100, count: row.rating_count ?? 0, source: 'merchant' },
    attributes: row.attributes,
    images: row.images.map(({ url, alt }) => ({ url: url.startsWith('/') ? siteUrl + url : url, alt })),
    variants: variants.map((variant) => variantOf(variant, row.currency)),
    listed_at: row.listed_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
});

const toolError = (text) => ({ content: [{ type: 'text', text }], isError: true });

async function getProductDetails({ product_id }) {
    const [, key] = /^prod_([0-9a-f]{32})$/.exec(product_id) ?? [];
    if (!key) return toolError('product_id must be prod_ and 32 hexadecimal digits');

    // Named statements are prepared once per connection.
    const { rows: [row] } = await pool.query({ name: 'product', text: PRODUCT, values: [key] });
    if (!row) return toolError(`no product ${product_id}`);
    const { rows: variants } = await pool.query({ name: 'variants', text: VARIANTS, values: [row.merchant_id, key] });

    const product = productOf(row, variants);
    return { content: [{ type: 'text', text: JSON.stringify(product) }], structuredContent: product };
}

function buildServer() {
    const server = new McpServer({ name: 'store', version: '1.0.0' });
    server.registerTool(
        'get_product_details',
        {
            title: 'Product details',
            description: 'Get everything this store says about one product.',
            inputSchema,
            outputSchema,
        },
        getProductDetails,
    );
    return server;
}

const validateHost = localhostHostValidation();
const validateOrigin = localhostOriginValidation();

createServer(async (req, res) => {
    if (!validateHost(req, res) || !validateOrigin(req, res)) return;
    if (new URL(req.url, siteUrl).pathname !== '/mcp') {
        res.writeHead(404).end();
        return;
    }
    // Without sessions each request has its own server and transport.
    const server = buildServer();
    const transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: undefined,
        enableJsonResponse: true,
    });
    res.on('close', () => server.close());
    await server.connect(transport);
    await transport.handleRequest(req, res);
}).listen(port, '127.0.0.1');
