-- no-transaction
-- owner: orders
-- A job completes orders whose return window has ended.

CREATE INDEX CONCURRENTLY placed_order_returnable ON placed_order (returnable_until, order_id) WHERE status = 'delivered';
