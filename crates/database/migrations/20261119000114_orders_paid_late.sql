-- owner: orders
-- Whether an order was placed by a payment that became known after its checkout had ended: its first status was manual_review.
-- Trust scores count nothing good of it, because only the merchant says that it was bought.

ALTER TABLE placed_order ADD COLUMN is_paid_late boolean NOT NULL DEFAULT false;
