-- owner: payments
-- Validates the checks of payments without blocking writes.

ALTER TABLE payment VALIDATE CONSTRAINT payment_status_check;
ALTER TABLE payment VALIDATE CONSTRAINT payment_ended;
ALTER TABLE payment VALIDATE CONSTRAINT payment_open;
ALTER TABLE payment VALIDATE CONSTRAINT payment_texts;
ALTER TABLE payment VALIDATE CONSTRAINT payment_charged;
ALTER TABLE payment VALIDATE CONSTRAINT payment_returned;
