-- owner: webhooks
-- contract: the new checks accept everything that the former ones did
-- The event of a store whose trust band changed, or that its trust score suspended or reinstated.

ALTER TABLE webhook_event
    DROP CONSTRAINT webhook_event_kind_check,
    ADD CONSTRAINT webhook_event_kind_check CHECK (kind IN
        ('order.created', 'order.status_changed', 'order.updated', 'order.refunded', 'return.created', 'return.updated',
         'dispute.opened', 'dispute.resolved', 'checkout.abandoned', 'trust.score_changed', 'webhook.test')) NOT VALID;
