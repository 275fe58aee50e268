-- no-transaction
-- owner: carts
-- A buyer's data is erased by the email address.

CREATE INDEX CONCURRENTLY cart_buyer ON cart (lower(buyer ->> 'email')) WHERE buyer IS NOT NULL;
