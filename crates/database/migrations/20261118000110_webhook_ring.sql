-- owner: webhooks
-- Bodies of events and attempts to deliver them, in forty partitions of a day each that are used in turn: those of thirty
-- days are kept, older ones are emptied by TRUNCATE, never row by row. No partition is ever missing, and no role of the
-- service creates or drops one.

-- The partition of a time: days since 1970-01-01 (UTC) modulo 40.
CREATE FUNCTION webhook_bucket(moment timestamptz) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (((moment AT TIME ZONE 'UTC')::date - DATE '1970-01-01') % 40)::smallint;

-- What merchants are told, byte for byte as it is sent.
CREATE TABLE webhook_body (
    -- Of created_at.
    bucket smallint NOT NULL,
    merchant_id uuid NOT NULL,
    event_id uuid NOT NULL,
    body bytea NOT NULL,
    -- As in webhook_event.
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, event_id, bucket)
) PARTITION BY LIST (bucket);
-- Whether a partition holds anything younger than the retention is asked before it is emptied.
CREATE INDEX webhook_body_age ON webhook_body USING brin (created_at) WITH (autosummarize = on);
ALTER TABLE webhook_body ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_body FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON webhook_body TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON webhook_body TO souk_platform USING (true);
GRANT SELECT, INSERT ON webhook_body TO souk_store, souk_platform;

CREATE TABLE webhook_attempt (
    -- Of attempted_at.
    bucket smallint NOT NULL,
    merchant_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    -- created_at of the event. Lists are sorted by it, and the key begins with it, so that an event of an endpoint is found by
    -- both columns.
    event_at timestamptz NOT NULL,
    event_id uuid NOT NULL,
    -- From 1; begins again when the event is sent again on request.
    number smallint NOT NULL CHECK (number >= 1),
    attempted_at timestamptz NOT NULL,
    -- The HTTP status; null without a response.
    status smallint,
    -- What failed, in a word; null if a response arrived.
    error text CHECK (length(error) BETWEEN 1 AND 100),
    latency_ms integer NOT NULL CHECK (latency_ms >= 0),
    -- The first bytes of the response: data of a third party.
    response bytea CHECK (octet_length(response) <= 512),
    outcome text NOT NULL CHECK (outcome IN ('delivered', 'retry', 'dead')),
    -- When the next attempt is due; null if there is none.
    next_at timestamptz,
    PRIMARY KEY (merchant_id, endpoint_id, event_at, event_id, attempted_at, number, bucket)
) PARTITION BY LIST (bucket);
CREATE INDEX webhook_attempt_age ON webhook_attempt USING brin (attempted_at) WITH (autosummarize = on);
ALTER TABLE webhook_attempt ENABLE ROW LEVEL SECURITY;
ALTER TABLE webhook_attempt FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON webhook_attempt TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON webhook_attempt TO souk_platform USING (true);
GRANT SELECT ON webhook_attempt TO souk_store;
GRANT SELECT, INSERT ON webhook_attempt TO souk_platform;

-- The partitions. Roles reach their rows through the tables above, whose policies then apply; by themselves they are closed.
DO $$
DECLARE
    parent text;
    part text;
BEGIN
    FOREACH parent IN ARRAY ARRAY['webhook_body', 'webhook_attempt'] LOOP
        FOR bucket IN 0..39 LOOP
            part := format('%s_%s', parent, bucket);
            EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES IN (%s)', part, parent, bucket);
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
            EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', part);
            EXECUTE format('GRANT TRUNCATE ON %I TO souk_platform', part);
        END LOOP;
    END LOOP;
END
$$;

-- Empties the partitions of a bucket, with the rights of the caller. Statements that read them are waited for, but not for
-- long: other ones wait behind this.
CREATE FUNCTION webhook_empty_bucket(emptied smallint) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout = '1s'
    AS $$
BEGIN
    EXECUTE format('TRUNCATE webhook_body_%s, webhook_attempt_%s', emptied, emptied);
END
$$;
