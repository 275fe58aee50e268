-- owner: webhooks
-- contract: the new check accepts everything that the former one did
-- Events of changed orders, refunds, returns and disputes.

ALTER TABLE webhook_event
    DROP CONSTRAINT webhook_event_kind_check,
    ADD CONSTRAINT webhook_event_kind_check CHECK (kind IN
        ('order.created', 'order.status_changed', 'order.updated', 'order.refunded', 'return.created', 'return.updated',
         'dispute.opened', 'dispute.resolved', 'checkout.abandoned')) NOT VALID;
