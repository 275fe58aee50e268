-- no-transaction
-- owner: catalog
-- The products whose price changes by itself, the next one first.

CREATE INDEX CONCURRENTLY product_price_due ON product (price_due_at, product_id) WHERE price_due_at IS NOT NULL;
