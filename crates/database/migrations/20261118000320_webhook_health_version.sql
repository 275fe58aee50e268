-- owner: webhooks
-- Attempts that began before an endpoint was moved or enabled say nothing about its health. Other changes, such as that of its
-- description, do not matter.

ALTER TABLE webhook_endpoint ADD COLUMN health_version integer NOT NULL DEFAULT 1;
