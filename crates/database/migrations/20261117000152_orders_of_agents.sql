-- no-transaction
-- owner: orders
-- An agent lists its orders at all stores.

CREATE INDEX CONCURRENTLY placed_order_of_agent ON placed_order (agent_key_id, created_at DESC, order_id DESC);
