-- owner: payments
-- What agents were asked to pay in tokens, and what they signed.

-- The requirements exactly as they were quoted: a payment is verified against them, and never against what its sender repeats.
CREATE TABLE x402_quote (
    merchant_id uuid NOT NULL,
    checkout_id uuid NOT NULL,
    -- The terms of the session that are paid.
    quote_hash bytea NOT NULL CHECK (octet_length(quote_hash) = 32),
    requirements text NOT NULL CHECK (length(requirements) BETWEEN 2 AND 4000),
    quoted_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, checkout_id, quote_hash)
);

-- A signed authorization, which is stored before a facilitator hears of it. Whoever has the payload can execute the transfer until it
-- expires.
CREATE TABLE x402_authorization (
    merchant_id uuid NOT NULL,
    payment_id uuid NOT NULL,
    checkout_id uuid NOT NULL,
    agent_key_id uuid NOT NULL,
    -- The idempotency key that the agent chose.
    payment_identifier text CHECK (length(payment_identifier) BETWEEN 16 AND 128),
    -- The quote that the payload was verified against.
    requirements text NOT NULL CHECK (length(requirements) BETWEEN 2 AND 4000),
    -- The payload as a facilitator receives it, each time the same bytes.
    payload text NOT NULL CHECK (length(payload) BETWEEN 2 AND 12288),
    payload_hash bytea NOT NULL CHECK (octet_length(payload_hash) = 32),
    network text NOT NULL CHECK (length(network) BETWEEN 8 AND 32),
    asset bytea NOT NULL CHECK (octet_length(asset) = 20),
    payer bytea NOT NULL CHECK (octet_length(payer) = 20),
    pay_to bytea NOT NULL CHECK (octet_length(pay_to) = 20),
    nonce bytea NOT NULL CHECK (octet_length(nonce) = 32),
    -- In the smallest unit of the token: up to 128 bits.
    value text NOT NULL CHECK (value ~ '^[1-9][0-9]{0,38}$'),
    -- Unix seconds: a block of this time or later cannot contain the transfer.
    valid_before bigint NOT NULL CHECK (valid_before > 0),
    confirmations integer NOT NULL CHECK (confirmations > 0),
    -- The authorization was unused at the end of this block.
    start_block bigint NOT NULL CHECK (start_block >= 0),
    authorized_at timestamptz NOT NULL,
    -- How often the facilitator was asked to settle, and when it was asked last.
    sent_count integer NOT NULL DEFAULT 0 CHECK (sent_count >= 0),
    sent_at timestamptz,
    -- What the chain says: the transaction that has the transfer, or why there never will be one.
    transaction_hash bytea CHECK (octet_length(transaction_hash) = 32),
    failure text CHECK (length(failure) BETWEEN 1 AND 50),
    PRIMARY KEY (merchant_id, payment_id),
    CHECK ((sent_count = 0) = (sent_at IS NULL)),
    CHECK (transaction_hash IS NULL OR failure IS NULL),
    FOREIGN KEY (merchant_id, payment_id) REFERENCES payment
);
-- Over all stores: an authorization pays for one purchase.
CREATE UNIQUE INDEX x402_authorization_nonce ON x402_authorization (network, asset, payer, nonce);
-- Over all stores: an agent uses an identifier for one payment.
CREATE UNIQUE INDEX x402_authorization_identifier ON x402_authorization (agent_key_id, payment_identifier)
    WHERE payment_identifier IS NOT NULL;
CREATE INDEX x402_authorization_of_session ON x402_authorization (merchant_id, checkout_id, authorized_at);

ALTER TABLE x402_quote ENABLE ROW LEVEL SECURITY;
ALTER TABLE x402_quote FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON x402_quote TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON x402_quote TO souk_platform USING (true);
ALTER TABLE x402_authorization ENABLE ROW LEVEL SECURITY;
ALTER TABLE x402_authorization FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON x402_authorization TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON x402_authorization TO souk_platform USING (true);
GRANT SELECT ON x402_quote, x402_authorization TO souk_store, souk_platform;
GRANT INSERT, UPDATE (requirements, quoted_at), DELETE ON x402_quote TO souk_checkout;
-- What was signed never changes and is never deleted.
GRANT INSERT, UPDATE (sent_count, sent_at, transaction_hash, failure) ON x402_authorization TO souk_checkout;
