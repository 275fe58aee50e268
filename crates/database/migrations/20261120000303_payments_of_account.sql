-- no-transaction
-- owner: payments
-- Whether a payment refers to an account, before it is deleted.

CREATE INDEX CONCURRENTLY payment_of_account ON payment (merchant_id, account_id) WHERE account_id IS NOT NULL;
