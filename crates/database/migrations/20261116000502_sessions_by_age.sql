-- no-transaction
-- owner: checkout
-- Merchants list their checkouts, the newest first.

CREATE INDEX CONCURRENTLY checkout_session_started ON checkout_session (merchant_id, started_at, checkout_id);
