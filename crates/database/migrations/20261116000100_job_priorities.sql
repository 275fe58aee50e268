-- owner: jobs
-- Urgent jobs have reserved slots, and scheduled ones need none. Rows that a sweep could not process are retried later.

-- 0: bulk, 1: urgent, 2: scheduled. Lane 0 holds jobs that were not started, lane 1 those that were: a claim starts its
-- jobs at once.
ALTER TABLE job ADD COLUMN priority smallint NOT NULL DEFAULT 0 CHECK (priority IN (0, 1, 2));
ALTER TABLE dead_job ADD COLUMN priority smallint NOT NULL DEFAULT 0, ADD COLUMN once_key text;

-- cell-wide: sweep_failure a sweep covers all merchants of the cell
CREATE TABLE sweep_failure (
    sweep text NOT NULL,
    row_id uuid NOT NULL,
    merchant_id uuid NOT NULL,
    attempts integer NOT NULL,
    retry_at timestamptz NOT NULL,
    last_error text NOT NULL,
    failed_at timestamptz NOT NULL,
    PRIMARY KEY (sweep, row_id)
);
CREATE INDEX sweep_failure_age ON sweep_failure (failed_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON sweep_failure TO souk_platform;
