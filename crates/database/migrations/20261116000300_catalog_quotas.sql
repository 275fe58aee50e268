-- owner: catalog
-- What a store may upload and store, counted where it is decided.

-- Products and variants of a store, retired ones included. Kept by every import and recounted by a job.
CREATE TABLE catalog_size (
    merchant_id uuid PRIMARY KEY,
    products bigint NOT NULL,
    variants bigint NOT NULL
);

-- Bytes that a store has sent, by day.
CREATE TABLE catalog_upload (
    merchant_id uuid NOT NULL,
    day date NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (merchant_id, day)
);
CREATE INDEX catalog_upload_age ON catalog_upload (day);

-- Quotas that an operator has set for a store; without a row, the default holds.
CREATE TABLE catalog_quota (
    merchant_id uuid NOT NULL,
    quota text NOT NULL,
    maximum bigint NOT NULL CHECK (maximum >= 0),
    PRIMARY KEY (merchant_id, quota)
);

-- Bytes of the feed that are stored in chunks.
ALTER TABLE catalog_run ADD COLUMN stored_bytes bigint NOT NULL DEFAULT 0;
UPDATE catalog_run SET stored_bytes = chunk.bytes
FROM (SELECT merchant_id, run_id, sum(octet_length(bytes)) AS bytes
      FROM catalog_run_chunk GROUP BY merchant_id, run_id) AS chunk
WHERE catalog_run.merchant_id = chunk.merchant_id AND catalog_run.run_id = chunk.run_id;

-- A variant that is no longer sold and still held by checkouts: deleted when nothing is held.
ALTER TABLE variant ADD COLUMN retired_at timestamptz;

INSERT INTO catalog_size (merchant_id, products, variants)
SELECT merchant_id, count(*), 0 FROM product GROUP BY merchant_id;
UPDATE catalog_size SET variants = counted.variants
FROM (SELECT merchant_id, count(*) AS variants FROM variant GROUP BY merchant_id) AS counted
WHERE catalog_size.merchant_id = counted.merchant_id;

ALTER TABLE catalog_size ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog_size FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON catalog_size TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON catalog_size TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE ON catalog_size TO souk_store, souk_platform;

ALTER TABLE catalog_upload ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog_upload FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON catalog_upload TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON catalog_upload TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE ON catalog_upload TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON catalog_upload TO souk_platform;

ALTER TABLE catalog_quota ENABLE ROW LEVEL SECURITY;
ALTER TABLE catalog_quota FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON catalog_quota TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON catalog_quota TO souk_platform USING (true);
GRANT SELECT ON catalog_quota TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON catalog_quota TO souk_platform;

-- The history of prices is kept for a time.
GRANT DELETE ON price_history TO souk_platform;
