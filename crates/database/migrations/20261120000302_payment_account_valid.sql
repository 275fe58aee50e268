-- owner: payments
-- Validates the reference without blocking writes.

ALTER TABLE payment VALIDATE CONSTRAINT payment_account_of_payment;
