-- no-transaction
-- owner: catalog
-- The imports whose result search does not show yet.

CREATE INDEX CONCURRENTLY catalog_run_unsearched ON catalog_run (finished_at, run_id)
    WHERE state = 'completed' AND NOT dry_run AND searchable_at IS NULL;
