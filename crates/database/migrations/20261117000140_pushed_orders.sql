-- owner: orders
-- Orders of a store's other channels, as the merchant pushed them. They are no evidence of anything.

CREATE TABLE pushed_order (
    merchant_id uuid NOT NULL,
    -- The merchant's own id of the order.
    external_id text NOT NULL CHECK (length(external_id) BETWEEN 1 AND 100),
    order_id uuid NOT NULL,
    status text NOT NULL CHECK (status IN
        ('pending', 'confirmed', 'processing', 'partially_shipped', 'shipped', 'delivered', 'completed',
         'manual_review', 'canceled', 'failed')),
    currency text NOT NULL,
    total_minor bigint NOT NULL CHECK (total_minor >= 0),
    -- SKU, name, quantity and unit price. Texts of the merchant.
    lines jsonb NOT NULL CHECK (jsonb_array_length(lines) <= 100),
    placed_at timestamptz NOT NULL,
    pushed_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, external_id),
    UNIQUE (merchant_id, order_id)
);
CREATE INDEX pushed_order_listed ON pushed_order (merchant_id, placed_at DESC, order_id);
ALTER TABLE pushed_order ENABLE ROW LEVEL SECURITY;
ALTER TABLE pushed_order FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON pushed_order TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON pushed_order TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE ON pushed_order TO souk_store;
GRANT SELECT ON pushed_order TO souk_platform;
