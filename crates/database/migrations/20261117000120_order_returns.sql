-- owner: orders
-- Returns of delivered items.

CREATE TABLE order_return (
    merchant_id uuid NOT NULL,
    order_id uuid NOT NULL,
    return_id uuid NOT NULL,
    status text NOT NULL CHECK (status IN
        ('requested', 'approved', 'declined', 'in_transit', 'received', 'inspected', 'refunded', 'exchanged',
         'rejected', 'closed', 'canceled')),
    outcome text NOT NULL CHECK (outcome IN ('refund', 'exchange', 'store_credit', 'replacement')),
    -- Line, quantity, reason and, once inspected, condition.
    items jsonb NOT NULL CHECK (jsonb_array_length(items) BETWEEN 1 AND 50),
    -- Text of the buyer.
    customer_note text CHECK (length(customer_note) BETWEEN 1 AND 2000),
    -- Text of the merchant.
    instructions text CHECK (length(instructions) BETWEEN 1 AND 2000),
    -- A code.
    decline_reason text CHECK (length(decline_reason) BETWEEN 1 AND 100),
    -- Texts of whoever reported that the items were sent: the merchant, the agent or the buyer.
    carrier text CHECK (length(carrier) BETWEEN 1 AND 100),
    tracking_number text CHECK (length(tracking_number) BETWEEN 1 AND 100),
    restocking_fee_minor bigint CHECK (restocking_fee_minor >= 0),
    refund_minor bigint CHECK (refund_minor >= 0),
    requested_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    received_at timestamptz,
    settled_at timestamptz,
    PRIMARY KEY (merchant_id, order_id, return_id),
    FOREIGN KEY (merchant_id, order_id) REFERENCES placed_order ON DELETE CASCADE
);
CREATE UNIQUE INDEX order_return_id ON order_return (return_id);
-- Settled returns are closed by a job.
CREATE INDEX order_return_settled ON order_return (settled_at, return_id)
    WHERE status IN ('refunded', 'exchanged', 'rejected');
-- Returns that merchants have not answered are counted.
CREATE INDEX order_return_requested ON order_return (requested_at) WHERE status = 'requested';
CREATE INDEX order_return_listed ON order_return (merchant_id, requested_at DESC, return_id);
ALTER TABLE order_return ENABLE ROW LEVEL SECURITY;
ALTER TABLE order_return FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON order_return TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON order_return TO souk_platform USING (true);
GRANT SELECT ON order_return TO souk_store, souk_platform;
GRANT SELECT, INSERT ON order_return TO souk_checkout;
GRANT UPDATE (status, items, instructions, decline_reason, carrier, tracking_number, restocking_fee_minor, refund_minor,
              updated_at, received_at, settled_at)
    ON order_return TO souk_checkout;
-- A buyer's data is erased on request.
GRANT UPDATE (customer_note, carrier, tracking_number) ON order_return TO souk_platform;
