-- owner: webhooks
-- contract: no release changes or deletes an event as a store
-- A store appends events; the platform deletes old ones.

REVOKE UPDATE, DELETE ON webhook_event FROM souk_store;
