-- owner: webhooks
-- Validates the checks of event kinds without blocking writes.

ALTER TABLE webhook_event VALIDATE CONSTRAINT webhook_event_kind_check;
ALTER TABLE webhook_endpoint VALIDATE CONSTRAINT webhook_endpoint_kinds_check;
