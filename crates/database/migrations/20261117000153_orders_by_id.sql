-- no-transaction
-- owner: orders
-- A request names an order without its store.

CREATE INDEX CONCURRENTLY placed_order_id ON placed_order (order_id);
