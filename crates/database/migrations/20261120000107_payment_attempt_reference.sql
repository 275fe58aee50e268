-- no-transaction
-- owner: payments
-- A reference of a provider names one attempt, by which webhooks find it.

CREATE UNIQUE INDEX CONCURRENTLY payment_attempt_reference ON payment (merchant_id, provider, attempt_reference);
