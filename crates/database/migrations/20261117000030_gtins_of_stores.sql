-- no-transaction
-- owner: catalog
-- Other products of a store with the same GTIN. Row-level security lets no condition on an expression use an index.

CREATE INDEX CONCURRENTLY product_gtin_of_store ON product (merchant_id, gtin) WHERE gtin IS NOT NULL AND retired_at IS NULL;
