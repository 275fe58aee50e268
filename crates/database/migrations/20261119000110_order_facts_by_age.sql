-- no-transaction
-- owner: orders
-- Trust scores count the orders of a store that were shipped or delivered on a day, or of which the merchant canceled units.

CREATE INDEX CONCURRENTLY order_history_facts ON order_history (merchant_id, occurred_at)
    WHERE (kind = 'status_changed' AND status IN ('shipped', 'delivered'))
       OR (kind = 'lines_canceled' AND actor = 'merchant');
