-- owner: trust
-- Which scores of an epoch are computed, which are computed outside of the schedule, stores whose facts are synthetic, and
-- changes that an operator looks at.

CREATE TABLE trust_epoch (
    epoch bigint PRIMARY KEY,
    -- Random: stores are computed in an order that follows from it.
    order_key uuid NOT NULL,
    -- The position in this order up to which all stores have a score of the epoch. Null: none yet.
    position uuid,
    -- When a worker saw the epoch first.
    opened_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON trust_epoch TO souk_platform;

-- Facts of before this version are counted before the first epoch: one row, which says how far.
CREATE TABLE trust_backfill (
    is_only boolean PRIMARY KEY CHECK (is_only),
    -- All stores with an id up to this one are counted. Null: none yet.
    position uuid,
    -- Null: not all stores are counted.
    completed_at timestamptz
);
GRANT SELECT, UPDATE ON trust_backfill TO souk_platform;
INSERT INTO trust_backfill (is_only) VALUES (true);

-- Stores whose score is computed outside of the schedule: days that it counted have changed, or the store has its first products.
CREATE TABLE trust_recomputation (
    merchant_id uuid PRIMARY KEY,
    due_at timestamptz NOT NULL,
    -- Random, and another one with each mark, so that a mark during a computation is not lost.
    mark uuid NOT NULL
);
CREATE INDEX trust_recomputation_due ON trust_recomputation (due_at, merchant_id);
ALTER TABLE trust_recomputation ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_recomputation FORCE ROW LEVEL SECURITY;
CREATE POLICY all_stores ON trust_recomputation TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON trust_recomputation TO souk_platform;

-- Stores whose facts could not be counted before the first epoch, or whose score could not be computed. Removed by a success.
CREATE TABLE trust_failure (
    merchant_id uuid PRIMARY KEY,
    stage text NOT NULL CHECK (stage IN ('count', 'score')),
    epoch bigint NOT NULL,
    failed_at timestamptz NOT NULL,
    error text NOT NULL,
    -- Failures of this stage without a success.
    attempts integer NOT NULL CHECK (attempts > 0),
    -- When the facts are counted again. Null: the score is computed in the next epoch.
    retry_at timestamptz CHECK ((retry_at IS NOT NULL) = (stage = 'count'))
);
CREATE INDEX trust_failure_retry ON trust_failure (retry_at, merchant_id) WHERE retry_at IS NOT NULL;
ALTER TABLE trust_failure ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_failure FORCE ROW LEVEL SECURITY;
CREATE POLICY all_stores ON trust_failure TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON trust_failure TO souk_platform;

-- Stores of the demo data: facts about them are synthetic, and their scores say so.
CREATE TABLE trust_synthetic (
    merchant_id uuid PRIMARY KEY
);
ALTER TABLE trust_synthetic ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_synthetic FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_synthetic FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_synthetic TO souk_platform USING (true);
GRANT SELECT ON trust_synthetic TO souk_store;
GRANT SELECT, INSERT ON trust_synthetic TO souk_platform;

DO $$
BEGIN
    -- Row-level security applies to the owner of the table too.
    SET LOCAL ROLE souk_platform;
    INSERT INTO trust_synthetic (merchant_id) SELECT DISTINCT merchant_id FROM trust_score WHERE basis = 'demo';
    RESET ROLE;
END
$$;

-- A score that rose or fell unusually fast. Merchants do not see it.
CREATE TABLE trust_alert (
    merchant_id uuid NOT NULL,
    epoch bigint NOT NULL,
    revision integer NOT NULL,
    former_score double precision NOT NULL,
    score double precision NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, epoch, revision)
);
CREATE INDEX trust_alert_age ON trust_alert (created_at);
ALTER TABLE trust_alert ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_alert FORCE ROW LEVEL SECURITY;
CREATE POLICY all_stores ON trust_alert TO souk_platform USING (true);
GRANT SELECT, INSERT ON trust_alert TO souk_platform;
