-- owner: catalog
-- What an import skipped and what it warns of, the columns of a file without a known format, and when the result of an import
-- could be found by search.

ALTER TABLE catalog_run ADD COLUMN skipped bigint NOT NULL DEFAULT 0;
ALTER TABLE catalog_run ADD COLUMN warnings bigint NOT NULL DEFAULT 0;
-- Column names of the file by field of a product.
ALTER TABLE catalog_run ADD COLUMN columns jsonb;
ALTER TABLE catalog_run ADD COLUMN searchable_at timestamptz;
UPDATE catalog_run SET searchable_at = finished_at WHERE finished_at IS NOT NULL AND NOT dry_run;

-- `error`: the row was rejected. `skipped`: it was left out. `warning`: it was taken, without a part of it.
ALTER TABLE catalog_run_fault ADD COLUMN kind text NOT NULL DEFAULT 'error'
    CHECK (kind IN ('error', 'skipped', 'warning'));
