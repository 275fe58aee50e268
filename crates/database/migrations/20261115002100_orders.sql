-- owner: orders
-- What was bought. An order exists from the moment its payment is known.

CREATE TABLE placed_order (
    merchant_id uuid NOT NULL,
    order_id uuid NOT NULL,
    checkout_id uuid NOT NULL,
    cart_id uuid NOT NULL,
    -- Which agent bought it, and what it was called then.
    agent_key_id uuid NOT NULL,
    agent_name text NOT NULL,
    is_sandbox boolean NOT NULL,
    status text NOT NULL CHECK (status IN
        ('pending', 'confirmed', 'processing', 'partially_shipped', 'shipped', 'delivered', 'completed',
         'manual_review', 'canceled', 'failed')),
    payment_provider text NOT NULL,
    payment_reference text NOT NULL CHECK (length(payment_reference) BETWEEN 1 AND 255),
    currency text NOT NULL,
    total_minor bigint NOT NULL CHECK (total_minor >= 0),
    -- What was bought, line by line.
    lines jsonb NOT NULL CHECK (jsonb_array_length(lines) BETWEEN 1 AND 50),
    -- What the person agreed to, and its hash.
    terms jsonb NOT NULL,
    quote_hash bytea NOT NULL CHECK (octet_length(quote_hash) = 32),
    -- How sure we are of that. Kept for ever.
    confirmation_level text NOT NULL CHECK (confirmation_level IN ('attested', 'elicited', 'hosted', 'mandate')),
    confirmation_id uuid,
    buyer jsonb,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, order_id),
    -- One order for a session and for a cart, for ever.
    UNIQUE (merchant_id, checkout_id),
    UNIQUE (merchant_id, cart_id)
);
CREATE INDEX placed_order_agent ON placed_order (merchant_id, agent_key_id, created_at);

ALTER TABLE placed_order ENABLE ROW LEVEL SECURITY;
ALTER TABLE placed_order FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON placed_order TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON placed_order TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON placed_order TO souk_store, souk_platform;
