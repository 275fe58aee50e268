-- no-transaction
-- owner: payments
-- Attempts without an outcome, of all stores.

CREATE INDEX CONCURRENTLY payment_pending ON payment (begun_at, payment_id) WHERE status IN ('begun', 'open', 'processing');
