-- owner: webhooks
-- What merchants are told, byte for byte as it is sent.

CREATE TABLE webhook_event (
    merchant_id uuid NOT NULL,
    event_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('order.created', 'order.status_changed', 'checkout.abandoned')),
    -- The order or the checkout session.
    subject uuid NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, event_id)
);
-- An order is created once, and a checkout is abandoned once.
CREATE UNIQUE INDEX webhook_event_once ON webhook_event (merchant_id, subject, kind)
    WHERE kind IN ('order.created', 'checkout.abandoned');
CREATE INDEX webhook_event_age ON webhook_event (created_at);

ALTER TABLE webhook_event ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_event FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON webhook_event TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON webhook_event TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_event TO souk_store, souk_platform;
