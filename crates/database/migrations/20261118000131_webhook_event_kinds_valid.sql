-- owner: webhooks
-- Validates the check of event kinds without blocking writes.

ALTER TABLE webhook_event VALIDATE CONSTRAINT webhook_event_kind_check;
