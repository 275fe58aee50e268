-- no-transaction
-- owner: payments
-- contract: payment_of_session enforces the same for the statuses that the previous release knows

DROP INDEX CONCURRENTLY IF EXISTS payment_once;
