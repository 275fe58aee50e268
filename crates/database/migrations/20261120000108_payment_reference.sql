-- no-transaction
-- owner: payments
-- The money that a provider names is credited to one payment. A merchant's own references are not unique.

CREATE UNIQUE INDEX CONCURRENTLY payment_reference ON payment (merchant_id, provider, reference)
    WHERE provider NOT IN ('merchant', 'test');
