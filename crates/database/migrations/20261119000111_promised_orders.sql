-- no-transaction
-- owner: orders
-- Trust scores count the orders of a store that were promised for a day and not delivered.

CREATE INDEX CONCURRENTLY placed_order_promised ON placed_order (merchant_id, promised_by)
    WHERE promised_by IS NOT NULL AND NOT is_sandbox;
