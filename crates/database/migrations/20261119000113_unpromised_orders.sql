-- no-transaction
-- owner: orders
-- An order without a promised time has to be delivered within thirty days: trust scores count those of a store that were not. The
-- expression is that of the view trust_order. It adds days without a time zone, because a sum with one is not immutable.

CREATE INDEX CONCURRENTLY placed_order_unpromised
    ON placed_order (merchant_id, (coalesce(promised_by, ((created_at AT TIME ZONE 'UTC') + interval '30 days') AT TIME ZONE 'UTC')))
    WHERE promised_by IS NULL AND NOT is_sandbox;
