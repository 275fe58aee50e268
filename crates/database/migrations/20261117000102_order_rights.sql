-- owner: orders
-- Only orders of sandboxes are deleted. Buyer and terms change only when personal data is erased.

CREATE POLICY real_orders_remain ON placed_order AS RESTRICTIVE FOR DELETE USING (is_sandbox);
REVOKE DELETE ON placed_order FROM souk_platform;

REVOKE UPDATE ON placed_order FROM souk_checkout, souk_platform;
GRANT UPDATE (status, version, lines, payment_status, refunded_minor, delivered_at, returnable_until, destination, note,
              updated_at)
    ON placed_order TO souk_checkout;
-- A buyer's data is erased on request.
GRANT UPDATE (buyer, terms, destination, note) ON placed_order TO souk_platform;
