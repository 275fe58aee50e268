-- no-transaction
-- owner: identity
-- The same of the keys of stores.

CREATE UNIQUE INDEX CONCURRENTLY store_key_mac ON platform.store_key (mac) WHERE revoked_at IS NULL;
