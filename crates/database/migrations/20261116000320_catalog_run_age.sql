-- no-transaction
-- owner: catalog
-- Runs that have ended, by age.

CREATE INDEX CONCURRENTLY catalog_run_age ON catalog_run (finished_at, run_id) WHERE finished_at IS NOT NULL;
