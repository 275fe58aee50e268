-- no-transaction
-- owner: orders
-- An agent lists its orders of one status at a store.

CREATE INDEX CONCURRENTLY placed_order_of_agent_at_status
    ON placed_order (merchant_id, agent_key_id, status, created_at DESC, order_id DESC) INCLUDE (updated_at);
