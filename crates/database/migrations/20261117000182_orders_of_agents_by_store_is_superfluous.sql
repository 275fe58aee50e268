-- no-transaction
-- owner: orders
-- contract: the previous release finds the orders of a key at a store by placed_order_page_of_agent too
-- Its columns do not end with the order's id, so that the planner read all orders of a key through it and sorted them.

DROP INDEX CONCURRENTLY IF EXISTS placed_order_agent;
