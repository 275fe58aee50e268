-- owner: trust
-- Which facts count for trust scores, and when: each rule in one place. Views have the rights of whoever reads them, so that a
-- store sees its own orders. Orders of sandboxes are in none of them but trust_buyer_cancellation, and orders whose payment failed only
-- where it is said.

-- Orders with the time by which they have to be delivered: the promised one, at most sixty days after the purchase, and thirty
-- days after it if none was promised. It has an index (migration due_orders). Orders whose payment failed are among them.
CREATE VIEW trust_order WITH (security_invoker = true) AS
SELECT merchant_id, order_id, checkout_id, agent_key_id, status, created_at, promised_by, is_paid_late,
       least(coalesce(promised_by, ((created_at AT TIME ZONE 'UTC') + interval '30 days') AT TIME ZONE 'UTC'),
             ((created_at AT TIME ZONE 'UTC') + interval '60 days') AT TIME ZONE 'UTC') AS due_by
FROM placed_order
WHERE NOT is_sandbox;

-- Units that the merchant canceled. Its own reasons are all but a request of the buyer and fraud.
CREATE VIEW trust_cancellation WITH (security_invoker = true) AS
SELECT entry.merchant_id, entry.order_id, placed.checkout_id, placed.agent_key_id, placed.due_by, entry.sequence,
       entry.occurred_at AS at, entry.reason, entry.reason NOT IN ('buyer_request', 'fraud') AS is_merchant_fault
FROM order_history AS entry
JOIN trust_order AS placed ON placed.merchant_id = entry.merchant_id AND placed.order_id = entry.order_id
WHERE entry.kind = 'lines_canceled' AND entry.actor = 'merchant' AND placed.status <> 'failed';

-- Orders of which the merchant canceled units. Without a reason of its own, an order is void: of its good facts only that it was
-- delivered counts.
CREATE VIEW trust_merchant_canceled_order WITH (security_invoker = true) AS
SELECT merchant_id, order_id, NOT bool_or(is_merchant_fault) AS is_void
FROM trust_cancellation
GROUP BY merchant_id, order_id;

-- Orders of which the merchant canceled units for a reason of its own, since the first such cancellation.
CREATE VIEW trust_merchant_fault_order WITH (security_invoker = true) AS
SELECT first.merchant_id, first.order_id, first.agent_key_id, first.due_by, first.at
FROM trust_cancellation AS first
WHERE first.is_merchant_fault
  AND NOT EXISTS (SELECT FROM trust_cancellation AS earlier
                  WHERE earlier.merchant_id = first.merchant_id AND earlier.order_id = first.order_id
                    AND earlier.is_merchant_fault AND earlier.sequence < first.sequence);

-- Orders of which the merchant canceled units as out of stock, since the first such cancellation.
CREATE VIEW trust_out_of_stock_order WITH (security_invoker = true) AS
SELECT first.merchant_id, first.order_id, first.agent_key_id, first.at
FROM trust_cancellation AS first
WHERE first.reason = 'out_of_stock'
  AND NOT EXISTS (SELECT FROM trust_cancellation AS earlier
                  WHERE earlier.merchant_id = first.merchant_id AND earlier.order_id = first.order_id
                    AND earlier.reason = 'out_of_stock' AND earlier.sequence < first.sequence);

-- Orders that are late, each once: since the time by which it had to be delivered, if it was neither delivered nor canceled
-- until then, and since the merchant canceled units for a reason of its own, if that was before. The time may lie ahead.
CREATE VIEW trust_late_order WITH (security_invoker = true) AS
SELECT due.merchant_id, due.order_id, due.agent_key_id, due.due_by AS at
FROM trust_order AS due
WHERE due.status <> 'failed'
  AND NOT EXISTS (SELECT FROM order_history AS ended
                  WHERE ended.merchant_id = due.merchant_id AND ended.order_id = due.order_id
                    AND ended.kind = 'status_changed' AND ended.status IN ('delivered', 'canceled')
                    AND ended.occurred_at <= due.due_by)
  AND NOT EXISTS (SELECT FROM trust_cancellation AS canceled
                  WHERE canceled.merchant_id = due.merchant_id AND canceled.order_id = due.order_id
                    AND canceled.is_merchant_fault AND canceled.at <= due.due_by)
UNION ALL
SELECT merchant_id, order_id, agent_key_id, at FROM trust_merchant_fault_order WHERE at <= due_by;

-- Disputes that the merchant lost: decided for the buyer, or settled with a refund.
CREATE VIEW trust_lost_dispute WITH (security_invoker = true) AS
SELECT dispute.merchant_id, dispute.order_id, placed.agent_key_id, dispute.resolved_at AS at
FROM order_dispute AS dispute
JOIN trust_order AS placed ON placed.merchant_id = dispute.merchant_id AND placed.order_id = dispute.order_id
WHERE dispute.status = 'resolved' AND placed.status <> 'failed'
  AND (dispute.resolution = 'buyer' OR (dispute.resolution = 'agreement' AND dispute.refund_minor > 0));

-- Orders that the agent or the buyer canceled as a whole, and nobody else any part of.
CREATE VIEW trust_buyer_cancellation WITH (security_invoker = true) AS
SELECT entry.merchant_id, entry.order_id, entry.occurred_at AS at
FROM order_history AS entry
WHERE entry.kind = 'status_changed' AND entry.status = 'canceled' AND entry.actor IN ('agent', 'buyer')
  AND NOT EXISTS (SELECT FROM order_history AS other
                  WHERE other.merchant_id = entry.merchant_id AND other.order_id = entry.order_id
                    AND other.kind = 'lines_canceled' AND other.actor NOT IN ('agent', 'buyer'));

-- Whether the merchant charged the price of the quote: by its reports of payments, as far as the quote states an amount, and by
-- orders that it canceled for the price. A report that was rejected for its amounts is one of another price, also if the quote
-- left parts open. `is_credited`: the price of the quote counts in favor of the merchant. It does not if the payment became known
-- after the checkout had ended or failed, if the merchant canceled units of the order, and if the agent or the buyer canceled the
-- whole order before the day of the report was settled, thirty hours after its beginning: a price that nobody paid in the end
-- proves nothing.
CREATE VIEW trust_price WITH (security_invoker = true) AS
SELECT report.merchant_id, report.checkout_id, report.agent_key_id, report.at,
       report.outcome <> 'refund_due' AND NOT EXISTS (
           SELECT FROM placed_order AS placed
           WHERE placed.merchant_id = report.merchant_id AND placed.checkout_id = report.checkout_id
             AND (placed.is_paid_late OR placed.status = 'failed'
               OR EXISTS (SELECT FROM trust_cancellation AS cut
                          WHERE cut.merchant_id = placed.merchant_id AND cut.order_id = placed.order_id)
               OR (placed.status = 'canceled' AND EXISTS (
                       SELECT FROM trust_buyer_cancellation AS withdrawn
                       WHERE withdrawn.merchant_id = placed.merchant_id AND withdrawn.order_id = placed.order_id
                         AND withdrawn.at < date_trunc('day', report.at, 'UTC') + interval '30 hours')))) AS is_credited,
       report.outcome = 'amount_mismatch' OR coalesce(compared.is_different, false)
           OR (NOT report.is_open AND coalesce(report.reported_minor <> report.expected_minor, false)) AS is_different
FROM payment_report AS report
CROSS JOIN LATERAL (
    SELECT bool_or(part.reported_minor <> part.expected_minor OR part.currency <> report.currency) AS is_different
    FROM jsonb_to_recordset(report.parts) AS part (expected_minor bigint, reported_minor bigint, currency text)
    WHERE part.expected_minor IS NOT NULL) AS compared
WHERE report.outcome = 'amount_mismatch' OR compared.is_different IS NOT NULL
   OR (NOT report.is_open AND report.reported_minor IS NOT NULL)
UNION ALL
SELECT merchant_id, checkout_id, agent_key_id, at, false, true
FROM trust_cancellation
WHERE reason = 'price_error';

GRANT SELECT ON trust_order, trust_cancellation, trust_merchant_canceled_order, trust_merchant_fault_order, trust_out_of_stock_order,
    trust_late_order, trust_lost_dispute, trust_buyer_cancellation, trust_price TO souk_store, souk_platform;
