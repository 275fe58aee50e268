-- no-transaction
-- owner: jobs
-- A schedule looks for its own dead letters.

CREATE INDEX CONCURRENTLY dead_job_kind ON dead_job (kind, died_at);
