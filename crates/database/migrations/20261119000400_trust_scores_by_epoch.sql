-- owner: trust
-- contract: the columns that earlier versions read exist; of new scores they show no components. Only their `souk seed` writes
-- here, and must not run any more
-- Every score of a store, by epoch: six hours, counted from 1970-01-01 (UTC). A correction is another revision of the epoch.
-- Append-only: no role may change or remove a row. Partitions have 120 epochs, thirty days. Four rows a day and store are kept for
-- years, so that they have only what a history needs; the rest is in trust_detail.

ALTER TABLE trust_score RENAME TO trust_score_by_time;
ALTER INDEX trust_score_pkey RENAME TO trust_score_by_time_pkey;

CREATE TABLE trust_score (
    merchant_id uuid NOT NULL,
    epoch bigint NOT NULL,
    -- Later than the epoch if that was computed late.
    computed_at timestamptz NOT NULL,
    -- By methodology 2.0. Null if the store is unscored.
    score double precision CHECK (score BETWEEN 0 AND 1),
    -- By methodology 4.1.0, from the same evidence: null without a score, and with the tier if it was not computed.
    v41_score double precision CHECK (v41_score BETWEEN 0 AND 100),
    -- 0 is the first computation in its epoch.
    revision integer NOT NULL CHECK (revision >= 0),
    provisional boolean NOT NULL,
    -- The version of the methodology that was in force.
    methodology text NOT NULL,
    basis text NOT NULL CHECK (basis IN ('computed', 'demo')),
    cause text NOT NULL CHECK (cause IN ('scheduled', 'requested', 'correction', 'demo')),
    v41_tier text,
    -- Values of the components by methodology 2.0, each 0 to 1, in this order: catalog_completeness, catalog_freshness,
    -- price_accuracy, availability_accuracy, policy_coverage, checkout_success_rate, fulfillment_rate, dispute_rate,
    -- agent_satisfaction_rate, response_latency, review_sentiment, data_consistency. Null: not applicable.
    component_values double precision[] NOT NULL,
    -- SHA-256 of the evidence. Null if the score was not computed from any.
    evidence_hash bytea CHECK (octet_length(evidence_hash) = 32),
    -- A chain of hashes over the rows of a store; not filled yet.
    previous_hash bytea CHECK (octet_length(previous_hash) = 32),
    hash bytea CHECK (octet_length(hash) = 32),
    -- Read by earlier versions only.
    components jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (merchant_id, epoch, revision)
) PARTITION BY RANGE (epoch);
ALTER TABLE trust_score ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_score FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_score FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_score TO souk_platform USING (true);
GRANT SELECT ON trust_score TO souk_store;
GRANT SELECT, INSERT ON trust_score TO souk_platform;

-- Creates the partition with this number, the epochs from 120 * number on, unless it exists. With the rights of the owner,
-- because no role of the service may create tables. The partition is attached, not created as one: that would lock out
-- readers of the history. Roles reach its rows through the table above; by itself it is closed.
CREATE FUNCTION trust_create_partition(number bigint) RETURNS boolean
    LANGUAGE plpgsql
    SECURITY DEFINER
    SET search_path = pg_catalog, public, pg_temp
    AS $$
DECLARE
    part text := format('trust_score_%s', number);
BEGIN
    -- A wrong clock creates no tables without end.
    IF number NOT BETWEEN 0 AND 1217 THEN
        RAISE EXCEPTION 'partition % is not one of the years 1970 to 2069', number;
    END IF;
    -- Two processes that create the same one wait for each other.
    PERFORM pg_advisory_xact_lock(hashtext('trust_create_partition'));
    IF to_regclass(format('public.%I', part)) IS NOT NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.trust_score INCLUDING CONSTRAINTS INCLUDING INDEXES)', part);
    EXECUTE format('ALTER TABLE public.%I ENABLE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE public.%I FORCE ROW LEVEL SECURITY', part);
    EXECUTE format('ALTER TABLE public.trust_score ATTACH PARTITION public.%I FOR VALUES FROM (%s) TO (%s)',
                   part, number * 120, (number + 1) * 120);
    RETURN true;
END
$$;
REVOKE ALL ON FUNCTION trust_create_partition(bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION trust_create_partition(bigint) TO souk_platform;

-- From March 2026 to March 2028, and those of older rows. A job creates the following ones a year ahead.
DO $$
DECLARE
    of_rows bigint[];
BEGIN
    -- Row-level security applies to the owner of the table too.
    SET LOCAL ROLE souk_platform;
    of_rows := ARRAY(SELECT DISTINCT floor(extract(epoch FROM computed_at) / 2592000)::bigint FROM trust_score_by_time);
    RESET ROLE;
    PERFORM trust_create_partition(number)
    FROM (SELECT generate_series(684, 708) UNION SELECT unnest(of_rows)) AS wanted (number);

    SET LOCAL ROLE souk_platform;
    INSERT INTO trust_score
        (merchant_id, epoch, revision, computed_at, methodology, score, provisional, basis, cause, component_values, components)
    SELECT merchant_id, epoch, row_number() OVER (PARTITION BY merchant_id, epoch ORDER BY computed_at) - 1,
           computed_at, methodology, score, provisional, basis,
           CASE basis WHEN 'demo' THEN 'demo' ELSE 'scheduled' END,
           ARRAY(SELECT (components ->> name)::double precision
                 FROM unnest(ARRAY['catalog_completeness', 'catalog_freshness', 'price_accuracy', 'availability_accuracy',
                                   'policy_coverage', 'checkout_success_rate', 'fulfillment_rate', 'dispute_rate',
                                   'agent_satisfaction_rate', 'response_latency', 'review_sentiment', 'data_consistency'])
                      WITH ORDINALITY AS component (name, position)
                 ORDER BY position),
           components
    FROM (SELECT *, floor(extract(epoch FROM computed_at) / 21600)::bigint AS epoch FROM trust_score_by_time) AS former;
    RESET ROLE;
END
$$;

DROP TABLE trust_score_by_time;
