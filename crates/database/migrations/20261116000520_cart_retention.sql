-- no-transaction
-- owner: carts
-- Carts that are purged by age: those of sandboxes.

CREATE INDEX CONCURRENTLY cart_sandbox_age ON cart (created_at, cart_id) WHERE is_sandbox;
