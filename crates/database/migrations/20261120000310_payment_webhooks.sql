-- owner: payments
-- Webhooks of payment processors that were verified and concern a payment. Processors deliver them repeatedly; each counts once.

CREATE TABLE payment_webhook (
    merchant_id uuid NOT NULL,
    provider text NOT NULL CHECK (length(provider) BETWEEN 1 AND 50),
    -- The processor's id of the event.
    event text NOT NULL CHECK (length(event) BETWEEN 1 AND 255),
    received_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, provider, event)
);
CREATE INDEX payment_webhook_age ON payment_webhook (received_at);

ALTER TABLE payment_webhook ENABLE ROW LEVEL SECURITY;
ALTER TABLE payment_webhook FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON payment_webhook TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON payment_webhook TO souk_platform USING (true);
GRANT SELECT ON payment_webhook TO souk_store, souk_platform;
GRANT INSERT ON payment_webhook TO souk_checkout;
GRANT DELETE ON payment_webhook TO souk_platform;
