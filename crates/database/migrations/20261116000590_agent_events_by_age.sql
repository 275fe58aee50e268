-- no-transaction
-- owner: checkout
-- Old events of all stores are deleted in batches, the oldest first.

CREATE INDEX CONCURRENTLY agent_event_by_age ON agent_event (at);
