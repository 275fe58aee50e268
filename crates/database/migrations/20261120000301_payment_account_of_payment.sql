-- owner: payments
-- A payment is asked about, captured and refunded with the account that it was started with. It is null for providers without accounts.

ALTER TABLE payment ADD COLUMN account_id uuid;
ALTER TABLE payment ADD CONSTRAINT payment_account_of_payment
    FOREIGN KEY (merchant_id, account_id) REFERENCES payment_account NOT VALID;
