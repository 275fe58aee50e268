-- no-transaction
-- owner: identity
-- A revoked key is found no more than one that never was: a look-up that met its row would take longer, and say so.

CREATE UNIQUE INDEX CONCURRENTLY agent_key_mac ON platform.agent_key (mac) WHERE revoked_at IS NULL;
