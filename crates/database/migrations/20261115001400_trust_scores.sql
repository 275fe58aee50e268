-- owner: trust
-- Every score a store ever had, and what it was made of. Append-only: nobody may change or remove a line.

CREATE TABLE trust_score (
    merchant_id uuid NOT NULL,
    computed_at timestamptz NOT NULL,
    -- The version of the methodology it was computed by.
    methodology text NOT NULL,
    -- None if no component applied.
    score double precision CHECK (score BETWEEN 0 AND 1),
    provisional boolean NOT NULL,
    basis text NOT NULL CHECK (basis IN ('computed', 'demo')),
    -- The figures of the components that applied, by name, each 0 to 1.
    components jsonb NOT NULL,
    PRIMARY KEY (merchant_id, computed_at)
);
ALTER TABLE trust_score ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_score FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_score FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_score TO souk_platform USING (true);
GRANT SELECT ON trust_score TO souk_store;
GRANT SELECT, INSERT ON trust_score TO souk_platform;
