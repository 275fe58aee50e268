-- no-transaction
-- owner: orders
-- A merchant lists its returns of one status, the newest first.

CREATE INDEX CONCURRENTLY order_return_status ON order_return (merchant_id, status, requested_at DESC, return_id);
