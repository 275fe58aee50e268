-- no-transaction
-- owner: jobs
-- contract: the previous release finds its due jobs by job_due_by_priority too, which begins with the lane

DROP INDEX CONCURRENTLY IF EXISTS job_due;
