-- owner: merchants
-- Stores, what they declare, and where they stand.

-- The whole network's slugs: a request names a store by slug, before anyone knows its cell.
CREATE TABLE platform.store_slug (
    slug text PRIMARY KEY CHECK (slug ~ '^[a-z0-9-]{1,63}$'),
    merchant_id uuid NOT NULL UNIQUE
);
GRANT SELECT ON platform.store_slug TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON platform.store_slug TO souk_platform;

CREATE TABLE store (
    merchant_id uuid PRIMARY KEY,
    slug text NOT NULL,
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    legal_name text NOT NULL,
    description text NOT NULL,
    website_url text NOT NULL,
    -- Where the catalog comes from.
    platform text NOT NULL,
    active boolean NOT NULL,
    country text NOT NULL CHECK (country ~ '^[A-Z]{2}$'),
    currency text NOT NULL,
    languages text[] NOT NULL,
    ships_to text[] NOT NULL,
    support_email text NOT NULL,
    member_since timestamptz NOT NULL,
    last_sync_at timestamptz,
    -- What the catalog holds, as the catalog last said.
    departments text[] NOT NULL DEFAULT '{}',
    product_count bigint NOT NULL DEFAULT 0 CHECK (product_count >= 0),
    updated_at timestamptz NOT NULL
);

CREATE TABLE store_policy (
    merchant_id uuid PRIMARY KEY,
    return_window_days integer CHECK (return_window_days BETWEEN 0 AND 3650),
    free_shipping_threshold_minor bigint CHECK (free_shipping_threshold_minor >= 0),
    shipping_days_min integer CHECK (shipping_days_min >= 0),
    shipping_days_max integer CHECK (shipping_days_max >= shipping_days_min),
    return_summary text,
    shipping_summary text,
    privacy_url text,
    terms_url text,
    warranty_months integer CHECK (warranty_months >= 0)
);

-- The trust score in force. Only trust writes it; search and checkout read it.
CREATE TABLE standing (
    merchant_id uuid PRIMARY KEY,
    -- Null: unscored, because no component applies.
    score double precision CHECK (score BETWEEN 0 AND 1),
    provisional boolean NOT NULL,
    computed_at timestamptz NOT NULL
);

-- Set by an operator or a verification provider, never by the merchant.
CREATE TABLE identity_verification (
    merchant_id uuid PRIMARY KEY,
    status text NOT NULL CHECK (status IN ('unverified', 'pending', 'verified', 'failed')),
    level text,
    method text,
    verified_at timestamptz
);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['store', 'store_policy', 'standing', 'identity_verification'] LOOP
        EXECUTE format('CREATE POLICY one_store ON %I TO souk_store USING (merchant_id = current_merchant())', tenant_table);
        EXECUTE format('CREATE POLICY all_stores ON %I TO souk_platform USING (true)', tenant_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO souk_store, souk_platform', tenant_table);
    END LOOP;
END
$$;
ALTER TABLE store ENABLE ROW LEVEL SECURITY;
ALTER TABLE store FORCE ROW LEVEL SECURITY;
ALTER TABLE store_policy ENABLE ROW LEVEL SECURITY;
ALTER TABLE store_policy FORCE ROW LEVEL SECURITY;
ALTER TABLE standing ENABLE ROW LEVEL SECURITY;
ALTER TABLE standing FORCE ROW LEVEL SECURITY;
ALTER TABLE identity_verification ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity_verification FORCE ROW LEVEL SECURITY;
