-- owner: merchants
-- What operators decide about a store. Its standing is another matter: that follows from the trust score alone.

ALTER TABLE store
    ADD COLUMN status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'suspended', 'paused', 'closed'));

-- Hosts to which a store may send people to pay.
CREATE TABLE store_host (
    merchant_id uuid NOT NULL,
    host text NOT NULL CHECK (length(host) BETWEEN 1 AND 253 AND host = lower(host)),
    allowed_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, host)
);
ALTER TABLE store_host ENABLE ROW LEVEL SECURITY;
ALTER TABLE store_host FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON store_host TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON store_host TO souk_platform USING (true);
GRANT SELECT ON store_host TO souk_store;
GRANT SELECT, INSERT, UPDATE, DELETE ON store_host TO souk_platform;

-- Hosts in use are allowed, from the time of the settings that name them.
INSERT INTO store_host (merchant_id, host, allowed_at)
SELECT merchant_id, host, updated_at
FROM (
    SELECT merchant_id, updated_at,
           lower(substring(checkout_url_template from '^https?://(\[[^]]+\]|[^/?#:]+)')) AS host
    FROM store_setting
) AS named
WHERE host IS NOT NULL;

-- What merchants are told, newest last. A notice is never changed.
CREATE TABLE merchant_notice (
    merchant_id uuid NOT NULL,
    position bigint GENERATED ALWAYS AS IDENTITY,
    notice_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind ~ '^[a-z_]{1,60}$'),
    details jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, position)
);
CREATE INDEX merchant_notice_age ON merchant_notice (created_at);
ALTER TABLE merchant_notice ENABLE ROW LEVEL SECURITY;
ALTER TABLE merchant_notice FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON merchant_notice TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON merchant_notice TO souk_platform USING (true);
GRANT SELECT, INSERT ON merchant_notice TO souk_store;
GRANT SELECT, INSERT, DELETE ON merchant_notice TO souk_platform;
