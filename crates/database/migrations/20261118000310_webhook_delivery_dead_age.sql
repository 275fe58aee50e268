-- no-transaction
-- owner: webhooks
-- contract: the version before this one deletes old dead letters without the index, only slower
-- A delivery ends 30 days after its event: nothing is found by the time at which it became a dead letter.

DROP INDEX CONCURRENTLY IF EXISTS webhook_delivery_dead_age;
