-- no-transaction
-- owner: orders
-- A merchant lists its orders of one status.

CREATE INDEX CONCURRENTLY placed_order_status ON placed_order (merchant_id, status, created_at DESC, order_id DESC) WHERE NOT is_sandbox;
