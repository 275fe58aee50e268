-- no-transaction
-- owner: orders
-- contract: the previous release lists the orders of agents by placed_order_page_of_agent too, which has the same columns

DROP INDEX CONCURRENTLY IF EXISTS placed_order_of_agent;
