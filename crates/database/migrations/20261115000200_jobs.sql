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
-- A store's work may enqueue, and may fence and finish the job it runs in; it reads no payload.
GRANT INSERT, DELETE, UPDATE (run_at), SELECT (id, lease_token, run_at, kind, once_key) ON job TO souk_store;
