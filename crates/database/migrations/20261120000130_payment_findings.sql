-- owner: payments
-- What does not agree between us and a payment provider, or between payments and orders: somebody has to look at it.

CREATE TABLE payment_finding (
    merchant_id uuid NOT NULL,
    payment_id uuid NOT NULL,
    kind text NOT NULL CHECK (length(kind) BETWEEN 1 AND 50),
    opened_at timestamptz NOT NULL,
    closed_at timestamptz,
    expected text NOT NULL CHECK (length(expected) <= 300),
    found text NOT NULL CHECK (length(found) <= 300),
    PRIMARY KEY (merchant_id, payment_id, kind, opened_at),
    CHECK (closed_at >= opened_at)
);
-- A finding is open once.
CREATE UNIQUE INDEX payment_finding_open ON payment_finding (merchant_id, payment_id, kind) WHERE closed_at IS NULL;
CREATE INDEX payment_finding_age ON payment_finding (opened_at, payment_id) WHERE closed_at IS NULL;

ALTER TABLE payment_finding ENABLE ROW LEVEL SECURITY;
ALTER TABLE payment_finding FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON payment_finding TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON payment_finding TO souk_platform USING (true);
GRANT SELECT ON payment_finding TO souk_store, souk_platform;
GRANT INSERT, UPDATE (closed_at) ON payment_finding TO souk_checkout;
