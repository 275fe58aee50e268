-- owner: jobs
-- What happened, in the transaction in which it happened, for readers that follow by cursor.

-- cell-wide: outbox one log for the cell, read in commit order across merchants
CREATE TABLE outbox (
    position bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    -- The writing transaction. Positions are taken before commit, so position order alone would
    -- let a reader step over an event whose transaction is still open.
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    merchant_id uuid NOT NULL,
    topic text NOT NULL,
    subject uuid NOT NULL,
    payload jsonb NOT NULL,
    at timestamptz NOT NULL
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX outbox_transaction ON outbox (transaction, position);

-- How far each named reader has come: the window of transactions it is in (those that `high` sees
-- and `low` does not), and the position in it.
CREATE TABLE outbox_cursor (
    name text PRIMARY KEY,
    low pg_snapshot NOT NULL,
    high pg_snapshot NOT NULL,
    position bigint NOT NULL
);

-- Snapshots that were taken now and then. A reader that is far behind uses them to take small steps.
CREATE TABLE outbox_horizon (
    -- The snapshot's xmax, which grows with time.
    upper xid8 PRIMARY KEY,
    snapshot pg_snapshot NOT NULL,
    seen_at timestamptz NOT NULL
);

GRANT SELECT, INSERT, UPDATE, DELETE ON outbox, outbox_cursor, outbox_horizon TO souk_platform;

-- A store tells in its own name and reads nothing.
ALTER TABLE outbox ENABLE ROW LEVEL SECURITY;
ALTER TABLE outbox FORCE ROW LEVEL SECURITY;
CREATE POLICY all_events ON outbox TO souk_platform USING (true);
CREATE POLICY own_name ON outbox FOR INSERT TO souk_store WITH CHECK (merchant_id = current_merchant());
GRANT INSERT ON outbox TO souk_store;
