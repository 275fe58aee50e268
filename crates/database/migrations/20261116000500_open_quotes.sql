-- owner: checkout
-- A checkout may start without an address, which the person enters on the payment page. A person's No counts, payments
-- reported late are kept, and evidence of a decision is recorded.

ALTER TABLE checkout_session
    -- Shipping and tax as far as they are known; estimates while the terms leave them open.
    ADD COLUMN amounts jsonb,
    -- The address of the agent that completed the session.
    ADD COLUMN agent_address text CHECK (length(agent_address) <= 45);
-- A payment that becomes known after the end of a session places an order for it.
ALTER TABLE checkout_session DROP CONSTRAINT checkout_session_check;
ALTER TABLE checkout_session ADD CONSTRAINT checkout_session_order
    CHECK (status <> 'completed' OR order_id IS NOT NULL) NOT VALID;

ALTER TABLE confirmation
    -- The items it is about: products, variants and quantities.
    ADD COLUMN items_hash bytea CHECK (octet_length(items_hash) = 32),
    -- Whether the agent's client may ask the person itself.
    ADD COLUMN is_elicitable boolean NOT NULL DEFAULT false,
    -- The address of the agent that requested it.
    ADD COLUMN agent_address text CHECK (length(agent_address) <= 45),
    -- The address and browser of the person who decided on the hosted page.
    ADD COLUMN decided_address text CHECK (length(decided_address) <= 45),
    ADD COLUMN decided_browser text CHECK (length(decided_browser) <= 300);

-- What a person declined: an agent cannot buy or request the same items again for a while.
CREATE TABLE declined_purchase (
    merchant_id uuid NOT NULL,
    agent_key_id uuid NOT NULL,
    items_hash bytea NOT NULL CHECK (octet_length(items_hash) = 32),
    declined_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, agent_key_id, items_hash)
);
CREATE INDEX declined_purchase_age ON declined_purchase (declined_at);

-- What merchants reported as paid, also if the report was rejected: evidence of price accuracy, and payments to refund.
CREATE TABLE payment_report (
    merchant_id uuid NOT NULL,
    checkout_id uuid NOT NULL,
    reference text NOT NULL CHECK (length(reference) BETWEEN 1 AND 255),
    outcome text NOT NULL CHECK (outcome IN ('accepted', 'amount_mismatch', 'refund_due')),
    currency text NOT NULL,
    expected_minor bigint NOT NULL,
    reported_minor bigint,
    -- Whether parts of the total were open: then the amount is no evidence.
    is_open boolean NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, checkout_id, reference, outcome)
);
CREATE INDEX payment_report_age ON payment_report (merchant_id, at);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['declined_purchase', 'payment_report'] LOOP
        EXECUTE format('CREATE POLICY one_store ON %I TO souk_store USING (merchant_id = current_merchant())', tenant_table);
        EXECUTE format('CREATE POLICY all_stores ON %I TO souk_platform USING (true)', tenant_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO souk_checkout, souk_platform', tenant_table);
    END LOOP;
END
$$;
ALTER TABLE declined_purchase ENABLE ROW LEVEL SECURITY;
ALTER TABLE declined_purchase FORCE ROW LEVEL SECURITY;
ALTER TABLE payment_report ENABLE ROW LEVEL SECURITY;
ALTER TABLE payment_report FORCE ROW LEVEL SECURITY;

-- contract: comparing a cart with the catalog of the same store is no evidence of accuracy; nothing reads the rows
DROP TABLE checkout_comparison;
