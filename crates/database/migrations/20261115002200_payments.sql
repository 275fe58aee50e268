-- owner: payments
-- What was tried to be paid, and what came of it.

CREATE TABLE payment (
    merchant_id uuid NOT NULL,
    payment_id uuid NOT NULL,
    checkout_id uuid NOT NULL,
    provider text NOT NULL,
    -- What the provider is told besides the amount: never a card's number.
    instrument text NOT NULL CHECK (length(instrument) BETWEEN 1 AND 100),
    currency text NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor >= 0),
    -- `begun` until the provider has answered.
    status text NOT NULL CHECK (status IN ('begun', 'paid', 'declined')),
    reference text CHECK (length(reference) BETWEEN 1 AND 255),
    begun_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (merchant_id, payment_id),
    CHECK ((status = 'begun') = (ended_at IS NULL)),
    CHECK (status <> 'paid' OR reference IS NOT NULL)
);
-- A session is paid once, and one payment is under way at a time.
CREATE UNIQUE INDEX payment_once ON payment (merchant_id, checkout_id) WHERE status <> 'declined';
CREATE INDEX payment_begun ON payment (begun_at) WHERE status = 'begun';

ALTER TABLE payment ENABLE ROW LEVEL SECURITY;
ALTER TABLE payment FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON payment TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON payment TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON payment TO souk_store, souk_platform;
