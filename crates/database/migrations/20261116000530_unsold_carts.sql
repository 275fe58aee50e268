-- no-transaction
-- owner: carts
-- Carts that are purged by age: those that did not become an order.

CREATE INDEX CONCURRENTLY cart_unsold_age ON cart (created_at, cart_id) WHERE status <> 'converted';
