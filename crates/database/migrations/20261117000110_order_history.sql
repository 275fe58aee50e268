-- owner: orders
-- What happened to an order after its placement. Rows are never changed, and deleted only with a sandbox order.

CREATE TABLE order_history (
    merchant_id uuid NOT NULL,
    order_id uuid NOT NULL,
    -- From 2; the placement is 1 and is the order itself.
    sequence integer NOT NULL CHECK (sequence >= 2),
    kind text NOT NULL,
    -- The status before and after. Equal unless the entry is a change of status.
    previous_status text NOT NULL,
    status text NOT NULL,
    actor text NOT NULL CHECK (actor IN ('agent', 'buyer', 'merchant', 'platform', 'system')),
    -- The key or the person; null for a job and for a buyer.
    actor_id text,
    reason text CHECK (length(reason) BETWEEN 1 AND 100),
    details jsonb NOT NULL,
    occurred_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, order_id, sequence),
    FOREIGN KEY (merchant_id, order_id) REFERENCES placed_order ON DELETE CASCADE
);
ALTER TABLE order_history ENABLE ROW LEVEL SECURITY;
ALTER TABLE order_history FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON order_history TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON order_history TO souk_platform USING (true);
GRANT SELECT ON order_history TO souk_store, souk_platform;
GRANT SELECT, INSERT ON order_history TO souk_checkout;

CREATE TABLE order_fulfillment (
    merchant_id uuid NOT NULL,
    order_id uuid NOT NULL,
    fulfillment_id uuid NOT NULL,
    -- Texts of the merchant.
    carrier text CHECK (length(carrier) BETWEEN 1 AND 100),
    tracking_number text CHECK (length(tracking_number) BETWEEN 1 AND 100),
    tracking_url text CHECK (length(tracking_url) BETWEEN 1 AND 2000),
    -- Line and quantity.
    items jsonb NOT NULL CHECK (jsonb_array_length(items) BETWEEN 1 AND 50),
    expected_by timestamptz,
    shipped_at timestamptz NOT NULL,
    delivered_at timestamptz,
    PRIMARY KEY (merchant_id, order_id, fulfillment_id),
    FOREIGN KEY (merchant_id, order_id) REFERENCES placed_order ON DELETE CASCADE
);
ALTER TABLE order_fulfillment ENABLE ROW LEVEL SECURITY;
ALTER TABLE order_fulfillment FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON order_fulfillment TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON order_fulfillment TO souk_platform USING (true);
GRANT SELECT ON order_fulfillment TO souk_store, souk_platform;
GRANT SELECT, INSERT ON order_fulfillment TO souk_checkout;
GRANT UPDATE (delivered_at) ON order_fulfillment TO souk_checkout;

CREATE TABLE order_refund (
    merchant_id uuid NOT NULL,
    order_id uuid NOT NULL,
    refund_id uuid NOT NULL,
    -- The return it settles, if any.
    return_id uuid,
    amount_minor bigint NOT NULL CHECK (amount_minor > 0),
    reason text NOT NULL CHECK (length(reason) BETWEEN 1 AND 100),
    -- Text of the merchant.
    note text CHECK (length(note) BETWEEN 1 AND 2000),
    -- The merchant's own reference of the refund.
    reference text CHECK (length(reference) BETWEEN 1 AND 255),
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, order_id, refund_id),
    FOREIGN KEY (merchant_id, order_id) REFERENCES placed_order ON DELETE CASCADE
);
-- One refund of an order per reference.
CREATE UNIQUE INDEX order_refund_reference ON order_refund (merchant_id, order_id, reference) WHERE reference IS NOT NULL;
ALTER TABLE order_refund ENABLE ROW LEVEL SECURITY;
ALTER TABLE order_refund FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON order_refund TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON order_refund TO souk_platform USING (true);
GRANT SELECT ON order_refund TO souk_store, souk_platform;
GRANT SELECT, INSERT ON order_refund TO souk_checkout;
