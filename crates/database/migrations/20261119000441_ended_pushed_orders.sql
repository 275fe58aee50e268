-- no-transaction
-- owner: orders
-- Methodology 4.1.0 of trust scores reads the newest pushed orders of a store that have ended, of each store every six hours.
-- Without this index it would read all that have not.

CREATE INDEX CONCURRENTLY pushed_order_ended ON pushed_order (merchant_id, placed_at DESC, order_id) INCLUDE (status)
    WHERE status IN ('delivered', 'completed', 'canceled', 'failed');
