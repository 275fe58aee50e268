-- owner: trust
-- What the newest score of each store was computed from: one row for each store, replaced with each score. Scores of the past
-- keep the hash of their evidence only.

CREATE TABLE trust_detail (
    merchant_id uuid PRIMARY KEY,
    -- The score that the row belongs to. If that is not the newest one, the newest one has no details.
    epoch bigint NOT NULL,
    revision integer NOT NULL CHECK (revision >= 0),
    -- Confidence and sample of the components that apply, by name.
    figures jsonb NOT NULL,
    -- The evidence without the days of accounts, which are in trust_agent_day.
    state jsonb NOT NULL,
    -- The result of methodology 4.1.0 with its dimensions.
    shadow jsonb NOT NULL
)
-- A row is replaced every six hours; in the same page, if there is room.
WITH (fillfactor = 60);
ALTER TABLE trust_detail ENABLE ROW LEVEL SECURITY;
ALTER TABLE trust_detail FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON trust_detail FOR SELECT TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON trust_detail TO souk_platform USING (true);
GRANT SELECT ON trust_detail TO souk_store;
GRANT SELECT, INSERT, UPDATE ON trust_detail TO souk_platform;
