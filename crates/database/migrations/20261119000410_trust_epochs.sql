-- owner: trust
-- Which scores of an epoch are computed, stores whose facts are invented, and gains that an operator looks at.

CREATE TABLE trust_epoch (
    epoch bigint PRIMARY KEY,
    -- All stores with an id up to this one have a score of the epoch. Null: none yet.
    position uuid,
    updated_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON trust_epoch TO souk_platform;

-- Stores of the demo data: facts about them are invented, and their scores say so.
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

-- A score that rose unusually fast. Merchants do not see it.
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
