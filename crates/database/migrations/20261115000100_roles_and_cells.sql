-- owner: database
-- The two roles, the moment-free ground every other migration stands on, and the directory of
-- cells (1,024 virtual shards, merchant → cell).

-- Roles belong to the cluster, not to the database: another database may have made them already.
DO $$
DECLARE
    role_name text;
BEGIN
    FOREACH role_name IN ARRAY ARRAY['souk_store', 'souk_platform'] LOOP
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role_name);
        EXCEPTION WHEN duplicate_object OR unique_violation THEN
            NULL;
        END;
        -- From PostgreSQL 16 on, whoever creates a role may not yet SET it; granting it says so.
        -- Without the right to grant, an administrator has made the roles and granted them.
        BEGIN
            EXECUTE format('GRANT %I TO %I', role_name, current_user);
        EXCEPTION WHEN insufficient_privilege THEN
            NULL;
        END;
    END LOOP;
END
$$;

CREATE SCHEMA platform;
GRANT USAGE ON SCHEMA platform, public TO souk_store, souk_platform;

-- The merchant a store transaction is bound to. Empty after the transaction, hence nullif: no
-- merchant means no rows, never an error and never all rows.
CREATE FUNCTION current_merchant() RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$ SELECT nullif(current_setting('souk.merchant_id', true), '')::uuid $$;

CREATE TABLE platform.cell_epoch (
    -- One row: the primary key admits only true.
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch bigint NOT NULL
);
INSERT INTO platform.cell_epoch (epoch) VALUES (1);

CREATE TABLE platform.cell_shard (
    shard smallint PRIMARY KEY CHECK (shard BETWEEN 0 AND 1023),
    cell text NOT NULL
);
INSERT INTO platform.cell_shard (shard, cell) SELECT shard, 'cell-1' FROM generate_series(0, 1023) AS shard;

-- Merchants that live elsewhere than their shard: whales, and merchants on the move.
CREATE TABLE platform.cell_override (
    merchant_id uuid PRIMARY KEY,
    cell text NOT NULL
);

GRANT SELECT ON platform.cell_epoch, platform.cell_shard, platform.cell_override TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE
    ON platform.cell_epoch, platform.cell_shard, platform.cell_override TO souk_platform;
