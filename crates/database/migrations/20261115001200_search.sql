-- owner: search
-- The search index is derived: its segments lie in an object store. Here is who may write which part of
-- it, which state of each part is in force, and what was searched for.

-- One whole index. A rebuild, another number of shards, another form of the documents: each is a new
-- generation, built beside the one that serves, and put in its place when all of it has caught up.
CREATE TABLE platform.search_generation (
    generation integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    -- The form of its documents: a process reads and writes only the form it was built for.
    format integer NOT NULL,
    state text NOT NULL CHECK (state IN ('building', 'serving', 'retired')),
    created_at timestamptz NOT NULL,
    served_at timestamptz,
    retired_at timestamptz
);
CREATE UNIQUE INDEX search_generation_building ON platform.search_generation (format) WHERE state = 'building';
CREATE UNIQUE INDEX search_generation_serving ON platform.search_generation (format) WHERE state = 'serving';

-- The map: which of the 1,024 virtual shards of merchants lie in which part, and what is published of it.
CREATE TABLE platform.search_shard (
    generation integer NOT NULL REFERENCES platform.search_generation ON DELETE CASCADE,
    shard smallint NOT NULL CHECK (shard >= 0),
    virtual_from smallint NOT NULL CHECK (virtual_from BETWEEN 0 AND 1023),
    virtual_to smallint NOT NULL CHECK (virtual_to BETWEEN virtual_from AND 1023),
    -- The one writer that may publish, and until when. Whoever takes the lease takes a new token.
    lease_token uuid,
    lease_until timestamptz,
    -- Grows with each publication; a writer names the one it builds on.
    version bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
    -- The checksum of the manifest in force, which is also its name in the object store.
    manifest text CHECK (manifest ~ '^[0-9a-f]{64}$'),
    published_at timestamptz,
    -- Everything that was committed before this moment is in what is published.
    caught_up_at timestamptz,
    -- A reader found what is published missing or broken; the writer looks and mends.
    damage_seen_at timestamptz,
    PRIMARY KEY (generation, shard),
    CHECK ((manifest IS NULL) = (version = 0))
);

GRANT SELECT, INSERT, UPDATE, DELETE ON platform.search_generation, platform.search_shard TO souk_platform;

-- What was searched for in one store, by day. No caller is named: only the kind of caller.
CREATE TABLE search_tally (
    merchant_id uuid NOT NULL,
    day date NOT NULL,
    query text NOT NULL CHECK (length(query) <= 100),
    caller text NOT NULL CHECK (length(caller) <= 20),
    searches bigint NOT NULL,
    without_result bigint NOT NULL,
    hits bigint NOT NULL,
    PRIMARY KEY (merchant_id, day, query, caller)
);
CREATE INDEX search_tally_day ON search_tally (day);
ALTER TABLE search_tally ENABLE ROW LEVEL SECURITY;
ALTER TABLE search_tally FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON search_tally TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON search_tally TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON search_tally TO souk_store, souk_platform;

-- What was searched for across stores.
CREATE TABLE platform.search_tally (
    day date NOT NULL,
    query text NOT NULL CHECK (length(query) <= 100),
    caller text NOT NULL CHECK (length(caller) <= 20),
    searches bigint NOT NULL,
    without_result bigint NOT NULL,
    hits bigint NOT NULL,
    PRIMARY KEY (day, query, caller)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON platform.search_tally TO souk_platform;
