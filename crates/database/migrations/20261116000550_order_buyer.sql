-- no-transaction
-- owner: orders
-- A buyer's data is erased by the email address.

CREATE INDEX CONCURRENTLY placed_order_buyer ON placed_order (lower(buyer ->> 'email')) WHERE buyer IS NOT NULL;
