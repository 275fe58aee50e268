-- no-transaction
-- owner: catalog
-- A job looks for outdated figures. Afterwards the index is empty.

CREATE INDEX CONCURRENTLY catalog_quality_outdated ON catalog_quality (computed_at, merchant_id) WHERE is_outdated;
