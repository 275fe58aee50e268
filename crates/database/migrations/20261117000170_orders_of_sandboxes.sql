-- no-transaction
-- owner: orders
-- A job ships and delivers orders of sandboxes, and settles their returns.

CREATE INDEX CONCURRENTLY placed_order_simulated ON placed_order (status, created_at, order_id)
    WHERE is_sandbox AND status IN ('pending', 'shipped', 'delivered');
