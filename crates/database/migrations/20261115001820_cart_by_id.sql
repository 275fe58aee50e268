-- no-transaction
-- owner: carts
-- An agent names a cart by its id alone, without its store.

CREATE INDEX CONCURRENTLY cart_by_id ON cart (cart_id);
