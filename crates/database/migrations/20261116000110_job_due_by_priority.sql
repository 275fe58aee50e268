-- no-transaction
-- owner: jobs
-- Claims read the due jobs of one priority in order.

CREATE INDEX CONCURRENTLY job_due_by_priority ON job (lane, priority, run_at);
