-- owner: search
-- Products, and stores, that the writer of a shard could not read: their documents stay as they are, and the rows are tried
-- again later.

CREATE TABLE platform.search_skipped (
    generation integer NOT NULL,
    shard smallint NOT NULL,
    merchant_id uuid NOT NULL,
    -- Nil: the store.
    product_id uuid NOT NULL,
    since timestamptz NOT NULL,
    PRIMARY KEY (generation, shard, merchant_id, product_id),
    FOREIGN KEY (generation, shard) REFERENCES platform.search_shard ON DELETE CASCADE
);
GRANT SELECT, INSERT, DELETE ON platform.search_skipped TO souk_platform;
