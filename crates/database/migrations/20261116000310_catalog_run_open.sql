-- no-transaction
-- owner: catalog
-- Runs that have not ended, and runs whose feed is stored: counted for the quotas of a store.

CREATE INDEX CONCURRENTLY catalog_run_open ON catalog_run (merchant_id)
    WHERE state IN ('receiving', 'queued', 'checking', 'applying', 'retiring') OR stored_bytes > 0;
