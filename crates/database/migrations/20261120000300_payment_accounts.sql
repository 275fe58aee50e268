-- owner: payments
-- Accounts of stores at payment processors. An account that was replaced or disconnected stays as long as a payment refers to it: its
-- refunds and its late webhooks need it.

CREATE TABLE payment_account (
    merchant_id uuid NOT NULL,
    account_id uuid NOT NULL,
    provider text NOT NULL CHECK (length(provider) BETWEEN 1 AND 50),
    -- Whether its payments move real money.
    is_live boolean NOT NULL,
    -- What the merchant recognizes it by: no secret.
    label text NOT NULL CHECK (length(label) BETWEEN 1 AND 200),
    -- Encrypted under a key that is not in the database.
    credentials bytea NOT NULL CHECK (octet_length(credentials) BETWEEN 1 AND 8192),
    created_at timestamptz NOT NULL,
    -- When it was replaced or disconnected: no payment starts with it any more.
    disabled_at timestamptz,
    PRIMARY KEY (merchant_id, account_id),
    CHECK (disabled_at >= created_at)
);
-- Payments start with one account of each provider.
CREATE UNIQUE INDEX payment_account_enabled ON payment_account (merchant_id, provider) WHERE disabled_at IS NULL;

ALTER TABLE payment_account ENABLE ROW LEVEL SECURITY;
ALTER TABLE payment_account FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON payment_account TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON payment_account TO souk_platform USING (true);
-- The credentials of an account never change: it is replaced by another one.
GRANT SELECT, INSERT, UPDATE (disabled_at), DELETE ON payment_account TO souk_store;
GRANT SELECT ON payment_account TO souk_platform;
