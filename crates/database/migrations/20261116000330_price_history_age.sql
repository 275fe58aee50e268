-- no-transaction
-- owner: catalog
-- Prices by age. The table is only appended to, so that ranges of pages suffice.

CREATE INDEX CONCURRENTLY price_history_age ON price_history USING brin (at);
