-- owner: identity
-- The network a sandbox key was issued to, as a keyed hash: of each network only the newest keys work.

ALTER TABLE platform.agent_key ADD COLUMN sandbox_network bytea;
ALTER TABLE platform.agent_key
    ADD CONSTRAINT agent_key_sandbox_network CHECK (
        sandbox_network IS NULL OR (octet_length(sandbox_network) = 32 AND user_id IS NULL)
    ) NOT VALID;
