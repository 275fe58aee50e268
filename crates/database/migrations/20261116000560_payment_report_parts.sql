-- owner: checkout
-- A report is kept with every amount it states beside the expected one, and also while another payment is pending.

ALTER TABLE payment_report ADD COLUMN parts jsonb;
ALTER TABLE payment_report DROP CONSTRAINT payment_report_outcome_check;
ALTER TABLE payment_report ADD CONSTRAINT payment_report_outcome
    CHECK (outcome IN ('accepted', 'amount_mismatch', 'refund_due', 'payment_pending')) NOT VALID;
