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
    SELECT id FROM job WHERE lane = 1 AND run_at <= :now AND (priority < 2 OR crashes >= 2)
    ORDER BY run_at LIMIT 1 FOR UPDATE SKIP LOCKED))
RETURNING id, kind, payload, merchant_id, priority, attempts, crashes;
WITH scheduled AS (
    SELECT id FROM job
    WHERE lane IN (0, 1) AND priority = 2 AND run_at <= :now AND (lane = 0 OR crashes < 2)
    FOR UPDATE SKIP LOCKED),
urgent AS (
    SELECT id FROM job WHERE lane = 0 AND priority = 1 AND run_at <= :now
    ORDER BY run_at LIMIT 50 FOR UPDATE SKIP LOCKED),
candidate AS (
    SELECT id, run_at, merchant_id FROM job
    WHERE lane = 0 AND priority = 0 AND run_at <= :now
      AND (merchant_id IS NULL OR merchant_id <> ALL ('{}'::uuid[]))
    ORDER BY run_at LIMIT 50::bigint * 4::bigint),
ranked AS (
    SELECT id, merchant_id, row_number() OVER (PARTITION BY merchant_id ORDER BY run_at) AS rank
    FROM candidate),
bulk AS (
    SELECT id FROM job
    WHERE lane = 0 AND priority = 0 AND run_at <= :now AND id = ANY (ARRAY(
        SELECT id FROM ranked
        WHERE merchant_id IS NULL
           OR rank <= 4 - (SELECT count(*) FROM unnest('{}'::uuid[]) AS running (merchant)
                           WHERE running.merchant = merchant_id)))
    ORDER BY run_at LIMIT least(50, 50 - (SELECT count(*) FROM urgent))
    FOR UPDATE SKIP LOCKED),
claimed AS (
    UPDATE job SET lease_token = :token, run_at = :until, lane = 1, crashes = crashes + lane
    WHERE id = ANY (ARRAY(
        SELECT id FROM scheduled UNION ALL SELECT id FROM urgent UNION ALL SELECT id FROM bulk))
    RETURNING id, kind, payload, merchant_id, priority, attempts, crashes, lease_token)
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
