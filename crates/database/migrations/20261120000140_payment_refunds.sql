-- owner: payments
-- Refunds that a payment provider is asked for. A row exists before the provider hears of the refund, and its id is the key by which the
-- provider makes it once.

CREATE TABLE payment_refund (
    merchant_id uuid NOT NULL,
    -- Also the id of the order's refund, once the money is returned.
    refund_id uuid NOT NULL,
    payment_id uuid NOT NULL,
    order_id uuid NOT NULL,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 50),
    -- Merchant text for the buyer.
    note text CHECK (length(note) BETWEEN 1 AND 2000),
    status text NOT NULL CHECK (status IN ('requested', 'unknown', 'pending', 'done', 'refused')),
    -- The provider's id of the refund.
    reference text CHECK (length(reference) BETWEEN 1 AND 255),
    requested_at timestamptz NOT NULL,
    ended_at timestamptz,
    next_check_at timestamptz,
    check_count integer NOT NULL DEFAULT 0,
    PRIMARY KEY (merchant_id, refund_id),
    CHECK ((status IN ('done', 'refused')) = (ended_at IS NOT NULL)),
    CHECK (status NOT IN ('pending', 'done') OR reference IS NOT NULL),
    FOREIGN KEY (merchant_id, payment_id) REFERENCES payment
);
CREATE INDEX payment_refund_of_payment ON payment_refund (merchant_id, payment_id);
CREATE INDEX payment_refund_due ON payment_refund (next_check_at, refund_id) WHERE next_check_at IS NOT NULL;

ALTER TABLE payment_refund ENABLE ROW LEVEL SECURITY;
ALTER TABLE payment_refund FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON payment_refund TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON payment_refund TO souk_platform USING (true);
GRANT SELECT ON payment_refund TO souk_store, souk_platform;
GRANT INSERT, UPDATE (status, reference, ended_at, next_check_at, check_count) ON payment_refund TO souk_checkout;
