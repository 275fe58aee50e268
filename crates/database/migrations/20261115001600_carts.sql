-- owner: carts
-- What agents have put together at one store. Nothing is held by it.

CREATE TABLE cart (
    merchant_id uuid NOT NULL,
    cart_id uuid NOT NULL,
    -- The key it was made with.
    agent_key_id uuid NOT NULL,
    -- A cart that is too old stays `active`: its age says it.
    status text NOT NULL CHECK (status IN ('active', 'checkout_started', 'converted', 'canceled')),
    version bigint NOT NULL CHECK (version > 0),
    currency text NOT NULL,
    -- Line, product, variant, quantity, and what one cost when it was put in.
    lines jsonb NOT NULL CHECK (jsonb_array_length(lines) <= 50),
    destination jsonb,
    shipping_option text,
    codes text[] NOT NULL CHECK (cardinality(codes) <= 5),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, cart_id)
);
CREATE INDEX cart_age ON cart (created_at);

ALTER TABLE cart ENABLE ROW LEVEL SECURITY;
ALTER TABLE cart FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON cart TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON cart TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON cart TO souk_store, souk_platform;
