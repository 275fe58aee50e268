-- The statements that `jobs::Runner` sends for one batch of fifty, with the same number of round trips.
-- Differences: PostgreSQL and not the client generates the token, and a batch is returned as two arrays
-- and not as fifty rows.
\startpipeline
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL ROLE souk_platform;
SET LOCAL souk.merchant_id = '';
\endpipeline
SELECT now() AS now, now() + interval '30 seconds' AS until, gen_random_uuid() AS token \gset
UPDATE job SET lease_token = :token, run_at = :until, crashes = crashes + 1
WHERE id = ANY (ARRAY(
    SELECT id FROM job WHERE lane = 1 AND run_at <= :now
    ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED))
RETURNING id, kind, payload, attempts, crashes;
WITH claimed AS (
    UPDATE job SET lease_token = :token, run_at = :until, lane = 1
    WHERE id = ANY (ARRAY(
        SELECT id FROM job WHERE lane = 0 AND run_at <= :now
        ORDER BY run_at LIMIT 50 FOR UPDATE SKIP LOCKED))
    RETURNING id, kind, payload, attempts, crashes, lease_token)
SELECT coalesce(array_agg(id), '{}') AS ids, coalesce(array_agg(lease_token), '{}') AS tokens FROM claimed \gset
COMMIT;
\startpipeline
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL ROLE souk_platform;
SET LOCAL souk.merchant_id = '';
\endpipeline
SELECT now();
DELETE FROM job USING unnest(:ids::uuid[], :tokens::uuid[]) AS held (id, token)
WHERE job.id = held.id AND job.lease_token = held.token;
COMMIT;
