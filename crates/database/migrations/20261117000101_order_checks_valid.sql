-- owner: orders
-- Validates the checks of orders without blocking writes.

ALTER TABLE placed_order VALIDATE CONSTRAINT placed_order_payment_status_check;
ALTER TABLE placed_order VALIDATE CONSTRAINT placed_order_note_check;
ALTER TABLE placed_order VALIDATE CONSTRAINT placed_order_refunded;
ALTER TABLE placed_order VALIDATE CONSTRAINT placed_order_quantities;
