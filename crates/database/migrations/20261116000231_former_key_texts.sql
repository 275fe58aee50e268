-- no-transaction
-- owner: identity
-- The former text of a rotated key is looked up like the current one.

CREATE UNIQUE INDEX CONCURRENTLY agent_key_previous_mac ON platform.agent_key (previous_mac)
    WHERE previous_mac IS NOT NULL AND revoked_at IS NULL;
