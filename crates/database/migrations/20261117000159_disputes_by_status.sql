-- no-transaction
-- owner: orders
-- A merchant lists its disputes of one status, the newest first.

CREATE INDEX CONCURRENTLY order_dispute_status ON order_dispute (merchant_id, status, opened_at DESC, dispute_id);
