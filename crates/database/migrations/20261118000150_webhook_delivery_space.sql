-- owner: webhooks
-- A delivery is changed once at least, when it starts. With space for that on its page no index is written.

ALTER TABLE webhook_delivery SET (fillfactor = 50);
