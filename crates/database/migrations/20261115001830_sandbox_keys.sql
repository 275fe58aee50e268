-- no-transaction
-- owner: identity
-- Sandbox keys that have ended are found without looking at everybody's.

CREATE INDEX CONCURRENTLY agent_key_sandbox_end ON platform.agent_key (expires_at) WHERE user_id IS NULL;
