-- owner: checkout
-- Checkout sessions, what people agreed to, and what was found when a price and a stock were held against the facts.

CREATE TABLE checkout_session (
    merchant_id uuid NOT NULL,
    checkout_id uuid NOT NULL,
    cart_id uuid NOT NULL,
    agent_key_id uuid NOT NULL,
    agent_name text NOT NULL,
    is_sandbox boolean NOT NULL,
    status text NOT NULL CHECK (status IN
        ('incomplete', 'ready_for_complete', 'requires_escalation', 'complete_in_progress', 'completed',
         'canceled', 'expired')),
    version bigint NOT NULL CHECK (version > 0),
    payment_method text CHECK (payment_method IN ('stripe', 'x402', 'paypal')),
    currency text NOT NULL,
    total_minor bigint NOT NULL CHECK (total_minor >= 0),
    -- What is bought: ids, number, price; as it was when the session was last decided.
    lines jsonb NOT NULL CHECK (jsonb_array_length(lines) <= 50),
    -- What a person agrees to, and its hash.
    terms jsonb NOT NULL,
    quote_hash bytea NOT NULL CHECK (octet_length(quote_hash) = 32),
    -- Whether the units of its lines are held.
    is_holding boolean NOT NULL,
    confirmation_level text CHECK (confirmation_level IN ('attested', 'elicited', 'hosted', 'mandate')),
    confirmation_id uuid,
    checkout_url text,
    -- What the form of our own page sends back, so that no other page can press its buttons.
    form_token bytea NOT NULL CHECK (octet_length(form_token) = 16),
    return_url text CHECK (length(return_url) <= 2000),
    metadata jsonb,
    -- Why the last payment failed, if it did.
    is_payment_failed boolean NOT NULL DEFAULT false,
    reason_code text CHECK (length(reason_code) <= 100),
    order_id uuid,
    started_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (merchant_id, checkout_id),
    -- One session for a cart, for ever.
    UNIQUE (merchant_id, cart_id),
    CHECK ((status = 'completed') = (order_id IS NOT NULL)),
    CHECK (is_holding = (status IN ('requires_escalation', 'complete_in_progress'))
           OR (is_holding AND status = 'ready_for_complete')),
    CHECK ((status IN ('completed', 'canceled', 'expired')) = (ended_at IS NOT NULL))
);
-- An agent names a session without its store.
CREATE INDEX checkout_session_id ON checkout_session (checkout_id);
CREATE INDEX checkout_session_end ON checkout_session (expires_at)
    WHERE status IN ('incomplete', 'ready_for_complete', 'requires_escalation');
CREATE INDEX checkout_session_sandbox ON checkout_session (started_at) WHERE is_sandbox;

CREATE TABLE confirmation (
    merchant_id uuid NOT NULL,
    confirmation_id uuid NOT NULL,
    cart_id uuid NOT NULL,
    -- The key that asked: a proof is no use to another.
    agent_key_id uuid NOT NULL,
    -- What the person was shown, and its hash.
    terms jsonb NOT NULL,
    quote_hash bytea NOT NULL CHECK (octet_length(quote_hash) = 32),
    status text NOT NULL CHECK (status IN ('pending', 'confirmed', 'rejected')),
    level text CHECK (level IN ('elicited', 'hosted')),
    -- What the page's form sends back, so that no other page can press the button.
    form_token bytea NOT NULL CHECK (octet_length(form_token) = 16),
    -- The session it was used for: once.
    used_by uuid,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    decided_at timestamptz,
    PRIMARY KEY (merchant_id, confirmation_id),
    CHECK ((status = 'pending') = (decided_at IS NULL)),
    CHECK ((status = 'confirmed') = (level IS NOT NULL)),
    CHECK (used_by IS NULL OR status = 'confirmed')
);
CREATE INDEX confirmation_cart ON confirmation (merchant_id, cart_id);
CREATE INDEX confirmation_age ON confirmation (created_at);

-- What the trust score is made of: was the price as listed, was it there. Once for each line of a cart.
CREATE TABLE checkout_comparison (
    merchant_id uuid NOT NULL,
    cart_id uuid NOT NULL,
    line_id uuid NOT NULL,
    product_id uuid NOT NULL,
    agent_key_id uuid NOT NULL,
    listed_minor bigint NOT NULL,
    -- Null if it could not be had at all.
    live_minor bigint,
    was_available boolean NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, cart_id, line_id)
);
CREATE INDEX checkout_comparison_age ON checkout_comparison (merchant_id, at);

-- CHECKOUT_START and CHECKOUT_COMPLETE, of real checkouts only.
CREATE TABLE agent_event (
    merchant_id uuid NOT NULL,
    checkout_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('CHECKOUT_START', 'CHECKOUT_COMPLETE')),
    agent_key_id uuid NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, checkout_id, kind)
);
CREATE INDEX agent_event_age ON agent_event (merchant_id, at);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['checkout_session', 'confirmation', 'checkout_comparison', 'agent_event'] LOOP
        EXECUTE format('CREATE POLICY one_store ON %I TO souk_store USING (merchant_id = current_merchant())', tenant_table);
        EXECUTE format('CREATE POLICY all_stores ON %I TO souk_platform USING (true)', tenant_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO souk_store, souk_platform', tenant_table);
    END LOOP;
END
$$;
ALTER TABLE checkout_session ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkout_session FORCE ROW LEVEL SECURITY;
ALTER TABLE confirmation ENABLE ROW LEVEL SECURITY;
ALTER TABLE confirmation FORCE ROW LEVEL SECURITY;
ALTER TABLE checkout_comparison ENABLE ROW LEVEL SECURITY;
ALTER TABLE checkout_comparison FORCE ROW LEVEL SECURITY;
ALTER TABLE agent_event ENABLE ROW LEVEL SECURITY;
ALTER TABLE agent_event FORCE ROW LEVEL SECURITY;
