-- owner: jobs
-- What happened, in the transaction in which it happened, for readers that follow by cursor.

-- cell-wide: outbox one log for the cell, read in commit order across merchants
CREATE TABLE outbox (
    position bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    -- The writing transaction. Positions are taken before commit, so position order alone would
    -- let a reader step over an event whose transaction is still open.
    transaction bigint NOT NULL DEFAULT (pg_current_xact_id()::text::bigint),
    merchant_id uuid NOT NULL,
    topic text NOT NULL,
    subject uuid NOT NULL,
    payload jsonb NOT NULL,
    at timestamptz NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX outbox_transaction ON outbox (transaction, position);

-- How far each named reader has come: the window of transactions it is in, and the position in it.
CREATE TABLE outbox_cursor (
    name text PRIMARY KEY,
    low bigint NOT NULL DEFAULT 0,
    high bigint NOT NULL DEFAULT 0,
    position bigint NOT NULL DEFAULT 0,
    CHECK (low <= high)
);

-- Horizons that were once seen: every transaction below was over. Windows end at one of these, and
-- a reader that is far behind uses them to take small steps.
CREATE TABLE outbox_horizon (
    transaction bigint PRIMARY KEY,
    seen_at timestamptz NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON outbox, outbox_cursor, outbox_horizon TO souk_platform;
GRANT INSERT ON outbox TO souk_store;
