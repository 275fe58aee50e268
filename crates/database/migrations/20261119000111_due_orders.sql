-- no-transaction
-- owner: orders
-- An order has to be delivered by the promised time, at most sixty days after the purchase, and within thirty days if none was
-- promised: trust scores count those of a store that were not. The expression is that of the view trust_order. It adds days
-- without a time zone, because a sum with one is not immutable.

CREATE INDEX CONCURRENTLY placed_order_due
    ON placed_order (merchant_id, (least(coalesce(promised_by, ((created_at AT TIME ZONE 'UTC') + interval '30 days') AT TIME ZONE 'UTC'),
                                         ((created_at AT TIME ZONE 'UTC') + interval '60 days') AT TIME ZONE 'UTC')))
    WHERE NOT is_sandbox;
