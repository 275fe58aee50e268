-- no-transaction
-- owner: orders
-- An agent lists its orders at all stores. The page is found in the index alone: an account with five keys reads the first
-- orders of each key and returns the newest of them, and the other ones would be read from the table in vain.

CREATE INDEX CONCURRENTLY placed_order_page_of_agent ON placed_order (agent_key_id, created_at DESC, order_id DESC)
    INCLUDE (merchant_id, updated_at);
