-- owner: webhooks
-- Where merchants receive events, and how well that works.

CREATE TABLE webhook_endpoint (
    merchant_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    -- A store has at most twenty endpoints: each has another slot.
    slot smallint NOT NULL CHECK (slot BETWEEN 1 AND 20),
    url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
    -- Text of the merchant.
    description text NOT NULL CHECK (length(description) <= 500),
    -- The kinds of events that are sent.
    kinds text[] NOT NULL CHECK (
        cardinality(kinds) BETWEEN 1 AND 9
        AND kinds <@ ARRAY['order.created', 'order.status_changed', 'order.updated', 'order.refunded', 'return.created',
                           'return.updated', 'dispute.opened', 'dispute.resolved', 'checkout.abandoned']
    ),
    status text NOT NULL CHECK (status IN ('enabled', 'disabled')),
    -- Decided by the merchant, by a response 410, or by days of failures.
    disabled_reason text CHECK (disabled_reason IN ('merchant', 'gone', 'failing')),
    disabled_at timestamptz,
    -- The endpoint of `webhook_url` in the settings of the store.
    from_settings boolean NOT NULL,
    -- Encrypted under a key that is not in the database.
    secret bytea NOT NULL CHECK (octet_length(secret) BETWEEN 1 AND 500),
    -- The secret before the last rotation, valid until then.
    former_secret bytea CHECK (octet_length(former_secret) BETWEEN 1 AND 500),
    former_secret_until timestamptz,
    version integer NOT NULL CHECK (version >= 1),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, endpoint_id),
    UNIQUE (merchant_id, slot),
    CHECK ((status = 'disabled') = (disabled_reason IS NOT NULL)),
    CHECK ((status = 'disabled') = (disabled_at IS NOT NULL)),
    CHECK ((former_secret IS NULL) = (former_secret_until IS NULL))
);
CREATE UNIQUE INDEX webhook_endpoint_of_settings ON webhook_endpoint (merchant_id) WHERE from_settings;
ALTER TABLE webhook_endpoint ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_endpoint FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON webhook_endpoint TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON webhook_endpoint TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_endpoint TO souk_store, souk_platform;

-- Results of the last attempts at an endpoint. Without a row, nothing was sent since it was created, enabled or moved.
CREATE TABLE webhook_health (
    merchant_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    last_attempt_at timestamptz,
    -- Written at most once a minute.
    last_success_at timestamptz,
    -- The first failure since the last success; null after a success.
    failing_since timestamptz,
    consecutive_failures integer NOT NULL CHECK (consecutive_failures >= 0),
    -- Until when the circuit is open; null while it is closed.
    probe_at timestamptz,
    PRIMARY KEY (merchant_id, endpoint_id)
) WITH (fillfactor = 70);
ALTER TABLE webhook_health ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_health FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON webhook_health TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON webhook_health TO souk_platform USING (true);
-- A store starts afresh; what is true of an endpoint is written by the platform.
GRANT SELECT, DELETE ON webhook_health TO souk_store;
-- What a merchant sends on request is not delayed by an open circuit.
GRANT UPDATE (probe_at) ON webhook_health TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_health TO souk_platform;
