-- no-transaction
-- owner: orders
-- contract: the previous release finds the orders of a key at a store by placed_order_of_agent_at too, which begins with the same columns

DROP INDEX CONCURRENTLY IF EXISTS placed_order_agent;
