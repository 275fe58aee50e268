-- owner: jobs
-- Writes that were asked for with an idempotency key, and what was answered.

CREATE TABLE idempotency (
    merchant_id uuid NOT NULL,
    caller text NOT NULL,
    key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    request_hash bytea NOT NULL,
    answer jsonb,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, caller, key)
);
CREATE INDEX idempotency_age ON idempotency (created_at);

ALTER TABLE idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE idempotency FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON idempotency TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON idempotency TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency TO souk_store, souk_platform;
