-- no-transaction
-- owner: orders
-- An agent lists its orders of one status at all stores.

CREATE INDEX CONCURRENTLY placed_order_of_agent_status ON placed_order (agent_key_id, status, created_at DESC, order_id DESC);
