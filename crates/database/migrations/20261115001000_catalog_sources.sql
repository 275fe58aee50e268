-- owner: catalog
-- contract: no release has served a merchant yet; what is dropped is demo data, and the seed brings it back
-- The catalog as merchants bring it in: identity by the merchant's own id, prices with a history, runs
-- that bring in whole feeds, and what is known of the data's quality.

DROP TABLE variant;
DROP TABLE product;

-- Products right at this place that agents can see, as last counted: counting a million of them takes
-- longer than a reader should wait.
ALTER TABLE category ADD COLUMN product_count bigint NOT NULL DEFAULT 0;

CREATE TABLE product (
    merchant_id uuid NOT NULL,
    product_id uuid NOT NULL,
    -- The merchant's own identifier: what a push or a feed names the product by.
    external_id text NOT NULL CHECK (length(external_id) BETWEEN 1 AND 100),
    category_id uuid NOT NULL,
    sku text NOT NULL CHECK (length(sku) BETWEEN 1 AND 100),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
    description text NOT NULL,
    brand text NOT NULL,
    gtin text CHECK (gtin ~ '^[0-9]{8,14}$'),
    mpn text,
    url text CHECK (length(url) <= 2048),
    condition text NOT NULL CHECK (condition IN ('new', 'refurbished', 'used')),
    price_minor bigint NOT NULL CHECK (price_minor >= 0),
    currency text NOT NULL,
    list_price_minor bigint CHECK (list_price_minor > price_minor),
    stock_status text NOT NULL CHECK (stock_status IN
        ('in_stock', 'low_stock', 'out_of_stock', 'backorder', 'preorder', 'discontinued')),
    stock_quantity integer CHECK (stock_quantity >= 0),
    -- As the merchant claims them: hundredths of a star, 0 to 500.
    rating_hundredths integer CHECK (rating_hundredths BETWEEN 0 AND 500),
    rating_count integer CHECK (rating_count >= 0),
    attributes jsonb NOT NULL DEFAULT '{}',
    images jsonb NOT NULL DEFAULT '[]',
    -- Where the product differs from what the store promises.
    policies jsonb NOT NULL DEFAULT '{}',
    listed_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    -- Set when the merchant no longer lists it. The row stays: orders and price history point at it.
    retired_at timestamptz,
    -- What was last brought in as a whole, as a hash; null once a part of it was changed by itself.
    fingerprint uuid,
    -- When a push last changed it. A feed that was received before that is older news.
    pushed_at timestamptz,
    -- The run that last changed it; null if a push did.
    run_id uuid,
    PRIMARY KEY (merchant_id, product_id),
    UNIQUE (merchant_id, external_id),
    FOREIGN KEY (merchant_id, category_id) REFERENCES category (merchant_id, category_id)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX product_category ON product (merchant_id, category_id) WHERE retired_at IS NULL;
CREATE INDEX product_sku ON product (merchant_id, sku);
CREATE INDEX product_url ON product (merchant_id, url) WHERE url IS NOT NULL;
CREATE INDEX product_arrival ON product (merchant_id, listed_at DESC) WHERE retired_at IS NULL;
-- An agent names a product by its id alone, or an article by its number across all stores.
CREATE INDEX product_anywhere ON product (product_id);
CREATE INDEX product_gtin ON product (lpad(gtin, 14, '0')) WHERE gtin IS NOT NULL;
-- The best reductions of the cell.
CREATE INDEX product_deal ON product ((price_minor::double precision / list_price_minor))
    WHERE list_price_minor IS NOT NULL AND retired_at IS NULL;

CREATE TABLE variant (
    merchant_id uuid NOT NULL,
    variant_id uuid NOT NULL,
    product_id uuid NOT NULL,
    -- The order the merchant shows them in.
    place integer NOT NULL,
    sku text NOT NULL CHECK (length(sku) BETWEEN 1 AND 100),
    name text NOT NULL,
    gtin text CHECK (gtin ~ '^[0-9]{8,14}$'),
    options jsonb NOT NULL DEFAULT '{}',
    image text,
    price_minor bigint NOT NULL CHECK (price_minor >= 0),
    list_price_minor bigint CHECK (list_price_minor > price_minor),
    stock_status text NOT NULL CHECK (stock_status IN
        ('in_stock', 'low_stock', 'out_of_stock', 'backorder', 'preorder', 'discontinued')),
    stock_quantity integer CHECK (stock_quantity >= 0),
    PRIMARY KEY (merchant_id, variant_id),
    UNIQUE (merchant_id, product_id, sku),
    FOREIGN KEY (merchant_id, product_id) REFERENCES product (merchant_id, product_id) ON DELETE CASCADE
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX variant_sku ON variant (merchant_id, sku);
CREATE INDEX variant_gtin ON variant (lpad(gtin, 14, '0')) WHERE gtin IS NOT NULL;

-- Every price there ever was. Nobody may change or remove a line.
CREATE TABLE price_history (
    merchant_id uuid NOT NULL,
    product_id uuid NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    -- Null: the price of the product as a whole.
    variant_id uuid,
    price_minor bigint NOT NULL,
    list_price_minor bigint,
    currency text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, product_id, position)
);

-- What buyers wrote, and who says so.
CREATE TABLE review (
    merchant_id uuid NOT NULL,
    product_id uuid NOT NULL,
    external_id text NOT NULL CHECK (length(external_id) BETWEEN 1 AND 100),
    stars smallint NOT NULL CHECK (stars BETWEEN 1 AND 5),
    title text NOT NULL,
    text text NOT NULL,
    author text NOT NULL,
    written_at timestamptz NOT NULL,
    -- `merchant`: handed on by the merchant, unverified.
    source text NOT NULL CHECK (source IN ('merchant', 'souk')),
    PRIMARY KEY (merchant_id, product_id, external_id),
    FOREIGN KEY (merchant_id, product_id) REFERENCES product (merchant_id, product_id) ON DELETE CASCADE
);

-- A feed on its way in.
CREATE TABLE catalog_run (
    merchant_id uuid NOT NULL,
    run_id uuid NOT NULL,
    format text NOT NULL,
    -- `replace`: what the feed does not name is retired. `merge`: it stays.
    mode text NOT NULL CHECK (mode IN ('replace', 'merge')),
    dry_run boolean NOT NULL,
    force boolean NOT NULL,
    file_name text,
    content_hash bytea,
    state text NOT NULL CHECK (state IN
        ('receiving', 'queued', 'checking', 'applying', 'retiring', 'completed', 'refused', 'failed', 'superseded')),
    -- Whether everything was read, applied and retired: only then is the catalog what the feed says.
    complete boolean NOT NULL DEFAULT false,
    reason text,
    bytes_total bigint NOT NULL DEFAULT 0,
    bytes_read bigint NOT NULL DEFAULT 0,
    rows_total bigint,
    -- Rows of the feed that are applied and committed: where a restarted run goes on.
    rows_done bigint NOT NULL DEFAULT 0,
    created bigint NOT NULL DEFAULT 0,
    updated bigint NOT NULL DEFAULT 0,
    unchanged bigint NOT NULL DEFAULT 0,
    outdated bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    absent bigint,
    retired bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL,
    received_at timestamptz,
    -- When it began to change the catalog.
    applied_at timestamptz,
    finished_at timestamptz,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, run_id)
);
-- At most one run of a store changes its catalog.
CREATE UNIQUE INDEX catalog_run_at_work ON catalog_run (merchant_id)
    WHERE state IN ('applying', 'retiring') AND NOT dry_run;
CREATE INDEX catalog_run_recent ON catalog_run (merchant_id, started_at DESC);

-- The bytes of a feed, until it has been applied.
CREATE TABLE catalog_run_chunk (
    merchant_id uuid NOT NULL,
    run_id uuid NOT NULL,
    number integer NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (merchant_id, run_id, number)
);
-- Feeds are read once or twice and then thrown away: compressing them costs more than it saves.
ALTER TABLE catalog_run_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Why a row was not taken.
CREATE TABLE catalog_run_fault (
    merchant_id uuid NOT NULL,
    run_id uuid NOT NULL,
    line bigint NOT NULL,
    number smallint NOT NULL,
    external_id text,
    field text NOT NULL,
    code text NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (merchant_id, run_id, line, number)
);

-- How good a store's data is, as last computed. Trust reads it.
CREATE TABLE catalog_quality (
    merchant_id uuid PRIMARY KEY,
    products bigint NOT NULL,
    complete bigint NOT NULL,
    consistent bigint NOT NULL,
    missing_price bigint NOT NULL,
    missing_image bigint NOT NULL,
    missing_gtin bigint NOT NULL,
    foreign_currency bigint NOT NULL,
    contradicting_stock bigint NOT NULL,
    shared_gtin bigint NOT NULL,
    computed_at timestamptz NOT NULL
);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['product', 'variant', 'review', 'catalog_run', 'catalog_run_chunk',
                                        'catalog_run_fault', 'catalog_quality', 'price_history'] LOOP
        EXECUTE format('CREATE POLICY one_store ON %I TO souk_store USING (merchant_id = current_merchant())', tenant_table);
        EXECUTE format('CREATE POLICY all_stores ON %I TO souk_platform USING (true)', tenant_table);
        EXECUTE format('GRANT SELECT, INSERT ON %I TO souk_store, souk_platform', tenant_table);
        IF tenant_table <> 'price_history' THEN
            EXECUTE format('GRANT UPDATE, DELETE ON %I TO souk_store, souk_platform', tenant_table);
        END IF;
    END LOOP;
END
$$;
ALTER TABLE product ENABLE ROW LEVEL SECURITY;
ALTER TABLE product FORCE ROW LEVEL SECURITY;
ALTER TABLE variant ENABLE ROW LEVEL SECURITY;
ALTER TABLE variant FORCE ROW LEVEL SECURITY;
ALTER TABLE price_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE price_history FORCE ROW LEVEL SECURITY;
ALTER TABLE review ENABLE ROW LEVEL SECURITY;
ALTER TABLE review FORCE ROW LEVEL SECURITY;
ALTER TABLE catalog_run ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog_run FORCE ROW LEVEL SECURITY;
ALTER TABLE catalog_run_chunk ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog_run_chunk FORCE ROW LEVEL SECURITY;
ALTER TABLE catalog_run_fault ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog_run_fault FORCE ROW LEVEL SECURITY;
ALTER TABLE catalog_quality ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog_quality FORCE ROW LEVEL SECURITY;
