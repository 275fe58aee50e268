-- owner: search
-- Changes of stores that change many products at once. They wait here, in PostgreSQL, while the cursor of the shard in the
-- outbox passes their events: the changes of other stores do not wait for them.

CREATE TABLE platform.search_bulk (
    generation integer NOT NULL,
    shard smallint NOT NULL,
    merchant_id uuid NOT NULL,
    product_id uuid NOT NULL,
    -- When the first change that waits was made.
    since timestamptz NOT NULL,
    -- Position in the outbox of the last change. A row is deleted only if it is still the one that was applied.
    last_position bigint NOT NULL,
    PRIMARY KEY (generation, shard, merchant_id, product_id)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX search_bulk_since ON platform.search_bulk (generation, shard, merchant_id, since);
GRANT SELECT, INSERT, UPDATE, DELETE ON platform.search_bulk TO souk_platform;

-- `caught_up_at` covers every store. These two cover all stores but those whose changes wait in `search_bulk`.
ALTER TABLE platform.search_shard
    ADD COLUMN small_caught_up_at timestamptz,
    ADD COLUMN bulk_merchants uuid[] NOT NULL DEFAULT '{}';
