-- owner: webhooks
-- contract: the new check accepts everything that the former one did
-- Endpoints may select the event of a changed trust score.

ALTER TABLE webhook_endpoint
    DROP CONSTRAINT webhook_endpoint_kinds_check,
    ADD CONSTRAINT webhook_endpoint_kinds_check CHECK (
        cardinality(kinds) BETWEEN 1 AND 10
        AND kinds <@ ARRAY['order.created', 'order.status_changed', 'order.updated', 'order.refunded', 'return.created',
                           'return.updated', 'dispute.opened', 'dispute.resolved', 'checkout.abandoned',
                           'trust.score_changed']
    ) NOT VALID;
