-- owner: merchants
-- What a merchant sets for its store beside its policies. Shipping, taxes and promotions are read and
-- written as a whole, so they are documents; the types in `merchants` are their schema.

CREATE TABLE store_setting (
    merchant_id uuid PRIMARY KEY,
    -- Which field of a product holds its GTIN.
    gtin_source text NOT NULL DEFAULT 'gtin' CHECK (length(gtin_source) BETWEEN 1 AND 120),
    confirmation_policy text NOT NULL DEFAULT 'attested'
        CHECK (confirmation_policy IN ('attested', 'hosted', 'mandate')),
    checkout_url_template text CHECK (length(checkout_url_template) <= 2000),
    shipping jsonb NOT NULL DEFAULT '[]',
    taxes jsonb NOT NULL DEFAULT '[]',
    promotions jsonb NOT NULL DEFAULT '[]',
    -- Counts changes, so that of two people who edit at once the second is told.
    version bigint NOT NULL DEFAULT 1 CHECK (version > 0),
    updated_at timestamptz NOT NULL
);

ALTER TABLE store_setting ENABLE ROW LEVEL SECURITY;
ALTER TABLE store_setting FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON store_setting TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON store_setting TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON store_setting TO souk_store, souk_platform;
