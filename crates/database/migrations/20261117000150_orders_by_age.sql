-- no-transaction
-- owner: orders
-- A merchant lists its orders, the newest first.

CREATE INDEX CONCURRENTLY placed_order_listed ON placed_order (merchant_id, created_at DESC, order_id DESC) WHERE NOT is_sandbox;
