-- no-transaction
-- owner: orders
-- An agent asks which of its orders at all stores changed since a time.

CREATE INDEX CONCURRENTLY placed_order_of_agent_changed ON placed_order (agent_key_id, updated_at DESC, order_id);
