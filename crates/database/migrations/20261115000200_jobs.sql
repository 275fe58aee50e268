-- owner: jobs
-- The durable queue, its dead letters and its schedules.

-- cell-wide: job the queue belongs to the cell; a row may name the merchant it is about
CREATE TABLE job (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    merchant_id uuid,
    -- 0: ordinary, claimed in batches. 1: it was started and has not come back. Starting a job puts
    -- it here, ending it takes it out, so whatever is due in this lane took its worker down (or was
    -- beside the one that did) and is claimed alone.
    lane smallint NOT NULL DEFAULT 0 CHECK (lane IN (0, 1)),
    -- When it is due. While it is leased: when the lease ends, and it is due again.
    run_at timestamptz NOT NULL,
    -- The fencing token of the newest claim. A worker with an older one can change nothing.
    lease_token uuid,
    attempts integer NOT NULL DEFAULT 0,
    crashes integer NOT NULL DEFAULT 0,
    once_key text,
    enqueued_at timestamptz NOT NULL,
    last_error text
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
CREATE INDEX job_due ON job (lane, run_at);
CREATE UNIQUE INDEX job_once ON job (kind, once_key) WHERE once_key IS NOT NULL;

-- cell-wide: dead_job as job
CREATE TABLE dead_job (
    id uuid PRIMARY KEY,
    kind text NOT NULL,
    payload jsonb NOT NULL,
    merchant_id uuid,
    reason text NOT NULL CHECK (reason IN ('failed', 'quarantined')),
    attempts integer NOT NULL,
    crashes integer NOT NULL,
    last_error text,
    enqueued_at timestamptz NOT NULL,
    died_at timestamptz NOT NULL
);

CREATE TABLE schedule (
    name text PRIMARY KEY,
    -- The newest epoch whose job was enqueued.
    epoch bigint NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON job, dead_job, schedule TO souk_platform;

-- A store's work may enqueue in its own name, and may fence and finish the one job it runs in, which
-- it knows by the lease it holds. It reads no payload and reaches no other job.
CREATE FUNCTION current_lease() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('souk.lease_token', true), '')::uuid $$;
ALTER TABLE job ENABLE ROW LEVEL SECURITY;
ALTER TABLE job FORCE ROW LEVEL SECURITY;
CREATE POLICY all_jobs ON job TO souk_platform USING (true);
CREATE POLICY own_name ON job FOR INSERT TO souk_store
    WITH CHECK (merchant_id IS NULL OR merchant_id = current_merchant());
-- Enqueueing once has to see what it may conflict with: the columns granted below, of rows it may write.
CREATE POLICY own_name_read ON job FOR SELECT TO souk_store
    USING (merchant_id IS NULL OR merchant_id = current_merchant() OR lease_token = current_lease());
CREATE POLICY own_lease_hold ON job FOR UPDATE TO souk_store USING (lease_token = current_lease());
CREATE POLICY own_lease_end ON job FOR DELETE TO souk_store USING (lease_token = current_lease());
GRANT INSERT, DELETE, UPDATE (run_at), SELECT (id, lease_token, run_at, kind, once_key) ON job TO souk_store;
