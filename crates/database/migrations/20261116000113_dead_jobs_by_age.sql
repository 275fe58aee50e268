-- no-transaction
-- owner: jobs
-- Dead letters are purged by age.

CREATE INDEX CONCURRENTLY dead_job_age ON dead_job (died_at);
