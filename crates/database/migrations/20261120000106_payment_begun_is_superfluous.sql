-- no-transaction
-- owner: payments
-- contract: the previous release finds payments that are begun by payment_pending too

DROP INDEX CONCURRENTLY IF EXISTS payment_begun;
