-- owner: identity
-- Keys are unique among those that work.

ALTER TABLE platform.agent_key DROP CONSTRAINT agent_key_mac_key;
ALTER TABLE platform.store_key DROP CONSTRAINT store_key_mac_key;

-- A key without an owner is a sandbox's: for one store, and for a while.
ALTER TABLE platform.agent_key
    ALTER COLUMN user_id DROP NOT NULL,
    ADD CONSTRAINT agent_key_sandbox CHECK (user_id IS NOT NULL OR (expires_at IS NOT NULL AND stores IS NOT NULL));
