-- no-transaction
-- owner: catalog
-- Imports from before `searchable_at`, in short transactions. Those of the hour before the newest are left to the sweep.

DO $$
DECLARE
    changed bigint;
BEGIN
    LOOP
        UPDATE catalog_run SET searchable_at = finished_at
        WHERE (merchant_id, run_id) IN (
            SELECT merchant_id, run_id FROM catalog_run
            WHERE state = 'completed' AND NOT dry_run AND searchable_at IS NULL
                AND finished_at < (SELECT max(newest.finished_at) FROM catalog_run AS newest) - interval '1 hour'
            ORDER BY finished_at LIMIT 2000
        );
        GET DIAGNOSTICS changed = ROW_COUNT;
        COMMIT;
        EXIT WHEN changed = 0;
    END LOOP;
END
$$;
