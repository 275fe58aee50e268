-- owner: webhooks
-- cell-wide: webhook_wake dispatchers read it in the order of arrival, whatever the store; row-level security isolates it all the same
-- Deliveries that are pending or have failed for good, and which process delivers those of which store.

-- A delivered event has no row here; it lives on as its attempt. The tables of the queue are often empty: vacuum does not
-- shorten their files, which would lock out writers and let plans forget that they grow.
CREATE TABLE webhook_delivery (
    merchant_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    -- created_at of the event. The key begins with it, so that new rows are neighbors and lists are sorted; a row is found
    -- by both columns.
    event_at timestamptz NOT NULL,
    event_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    -- Attempts that failed.
    attempts smallint NOT NULL CHECK (attempts >= 0),
    -- Attempts that began. More than those that ended: a process ended first.
    starts smallint NOT NULL CHECK (starts >= 0),
    -- Of the starts without an end, those beside which nothing else ran in the process.
    lone_starts smallint NOT NULL DEFAULT 0 CHECK (lone_starts >= 0),
    -- When it became a dead letter; null while it is pending.
    dead_at timestamptz,
    PRIMARY KEY (merchant_id, endpoint_id, event_at, event_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.01, vacuum_truncate = off);
CREATE INDEX webhook_delivery_due ON webhook_delivery (merchant_id, endpoint_id, due_at) WHERE dead_at IS NULL;
CREATE INDEX webhook_delivery_dead ON webhook_delivery (merchant_id, endpoint_id, event_at, event_id)
    WHERE dead_at IS NOT NULL;
CREATE INDEX webhook_delivery_dead_age ON webhook_delivery (dead_at) WHERE dead_at IS NOT NULL;
ALTER TABLE webhook_delivery ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_delivery FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON webhook_delivery TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON webhook_delivery TO souk_platform USING (true);
GRANT SELECT, INSERT ON webhook_delivery TO souk_store;
GRANT UPDATE (due_at, attempts, starts, lone_starts, dead_at) ON webhook_delivery TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_delivery TO souk_platform;

-- One row for each event that has a delivery, and for each change of an endpoint: a dispatcher looks at the store. A row of its
-- own, so that no purchase waits for another one of its store.
CREATE TABLE webhook_wake (
    wake_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    merchant_id uuid NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000, vacuum_truncate = off);
ALTER TABLE webhook_wake ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_wake FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON webhook_wake TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON webhook_wake TO souk_platform USING (true);
GRANT INSERT ON webhook_wake TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_wake TO souk_platform;

-- One row for each store that ever had an endpoint.
CREATE TABLE webhook_queue (
    merchant_id uuid PRIMARY KEY,
    -- When a dispatcher has to look at the store; null: not before the next event.
    due_at timestamptz,
    -- The dispatcher that delivers for the store, as long as its lease is valid.
    owner uuid
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, vacuum_truncate = off);
CREATE INDEX webhook_queue_due ON webhook_queue (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_queue_owner ON webhook_queue (owner) WHERE owner IS NOT NULL;
ALTER TABLE webhook_queue ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_queue FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON webhook_queue TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON webhook_queue TO souk_platform USING (true);
GRANT SELECT (merchant_id), INSERT ON webhook_queue TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_queue TO souk_platform;

-- The lease of a dispatcher process on everything it owns.
CREATE TABLE webhook_worker (
    owner uuid PRIMARY KEY,
    lease_until timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON webhook_worker TO souk_platform;
