-- no-transaction
-- owner: orders
-- Trust scores count the refunds of a store in a window of time.

CREATE INDEX CONCURRENTLY order_refund_age ON order_refund (merchant_id, created_at);
