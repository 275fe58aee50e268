-- no-transaction
-- owner: checkout
-- Trust scores look at the first checkouts that each agent started on a day. Whoever starts a million has no more of them read.

CREATE INDEX CONCURRENTLY agent_event_starts
    ON agent_event (merchant_id, ((at AT TIME ZONE 'UTC')::date), agent_key_id, at, checkout_id)
    WHERE kind = 'CHECKOUT_START';
