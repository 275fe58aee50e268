-- owner: identity
-- A revoked key is found no more than one that never was: a look-up that met its row would take longer, and say so.

ALTER TABLE platform.agent_key DROP CONSTRAINT agent_key_mac_key;
CREATE UNIQUE INDEX agent_key_mac ON platform.agent_key (mac) WHERE revoked_at IS NULL;
ALTER TABLE platform.store_key DROP CONSTRAINT store_key_mac_key;
CREATE UNIQUE INDEX store_key_mac ON platform.store_key (mac) WHERE revoked_at IS NULL;

-- A key without an owner is a sandbox's: for one store, and for a while.
ALTER TABLE platform.agent_key
    ALTER COLUMN user_id DROP NOT NULL,
    ADD CONSTRAINT agent_key_sandbox CHECK (user_id IS NOT NULL OR (expires_at IS NOT NULL AND stores IS NOT NULL));
