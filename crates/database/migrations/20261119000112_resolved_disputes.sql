-- no-transaction
-- owner: orders
-- Trust scores count the disputes of a store that were resolved on a day.

CREATE INDEX CONCURRENTLY order_dispute_resolved ON order_dispute (merchant_id, resolved_at) WHERE status = 'resolved';
