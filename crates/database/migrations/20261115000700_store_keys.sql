-- owner: identity
-- Keys that merchants' own programs present. A key is looked up before anyone knows whose it is and
-- which cell that merchant lives in, so it belongs to the platform.

CREATE TABLE platform.store_key (
    key_id uuid PRIMARY KEY,
    -- HMAC-SHA256 of the key under the server's secret. The key itself is kept nowhere.
    mac bytea NOT NULL UNIQUE CHECK (octet_length(mac) = 32),
    merchant_id uuid NOT NULL,
    -- The first characters, by which people tell their keys apart.
    prefix text NOT NULL CHECK (length(prefix) BETWEEN 1 AND 20),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
    created_at timestamptz NOT NULL,
    expires_at timestamptz CHECK (expires_at > created_at),
    revoked_at timestamptz
);
CREATE INDEX store_key_merchant ON platform.store_key (merchant_id, created_at);

-- A store's role has no business here: what a key may do is decided before its work begins.
GRANT SELECT, INSERT, UPDATE, DELETE ON platform.store_key TO souk_platform;
