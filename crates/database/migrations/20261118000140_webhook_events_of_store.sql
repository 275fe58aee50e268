-- no-transaction
-- owner: webhooks
-- Events of a store in a range of time, to send them again and to list them.

CREATE INDEX CONCURRENTLY webhook_event_of_store ON webhook_event (merchant_id, created_at, event_id);
