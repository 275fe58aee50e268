-- no-transaction
-- owner: payments
-- Payments about which their provider is to be asked. Those that the previous release started have no time: they are due at once.

CREATE INDEX CONCURRENTLY payment_due ON payment ((coalesce(next_check_at, begun_at)), payment_id)
    WHERE next_check_at IS NOT NULL OR status = 'begun';
