-- no-transaction
-- owner: payments
-- A session is paid once, and one attempt is under way at a time. It replaces payment_once, after which an attempt that expired would
-- be the last one.

CREATE UNIQUE INDEX CONCURRENTLY payment_of_session ON payment (merchant_id, checkout_id)
    WHERE status NOT IN ('declined', 'expired');
