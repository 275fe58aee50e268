-- no-transaction
-- owner: orders
-- An agent lists its orders at a store. The index has the order of the list and the column of its filter: a page is found in it alone.

CREATE INDEX CONCURRENTLY placed_order_of_agent_at
    ON placed_order (merchant_id, agent_key_id, created_at DESC, order_id DESC) INCLUDE (updated_at);
