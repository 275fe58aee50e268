-- owner: webhooks
-- The time of the last requests at an endpoint, smoothed: each worker knows slow receivers. Null before the first one.

ALTER TABLE webhook_health ADD COLUMN latency_ms integer;
