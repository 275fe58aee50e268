-- no-transaction
-- owner: identity
-- The keys of one network, by age.

CREATE INDEX CONCURRENTLY agent_key_sandbox_network ON platform.agent_key (sandbox_network, created_at)
    WHERE sandbox_network IS NOT NULL;
