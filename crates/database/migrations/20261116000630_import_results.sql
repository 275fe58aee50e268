-- owner: catalog
-- What an import skipped and what it warns of, the columns of a file without a known format, and when the result of an import
-- could be found by search.

ALTER TABLE catalog_run ADD COLUMN skipped bigint NOT NULL DEFAULT 0;
ALTER TABLE catalog_run ADD COLUMN warnings bigint NOT NULL DEFAULT 0;
-- Column names of the file by field of a product.
ALTER TABLE catalog_run ADD COLUMN columns jsonb;
ALTER TABLE catalog_run ADD COLUMN searchable_at timestamptz;

-- `error`: the row was rejected. `skipped`: it was left out. `warning`: it was taken, without a part of it.
-- `NOT VALID`: the table is not read while it is locked. Rows from before have the default.
ALTER TABLE catalog_run_fault ADD COLUMN kind text NOT NULL DEFAULT 'error';
ALTER TABLE catalog_run_fault
    ADD CONSTRAINT catalog_run_fault_kind CHECK (kind IN ('error', 'skipped', 'warning')) NOT VALID;
