-- owner: payments
-- Every movement of real money of a store, by double entry. A transfer takes an amount from one account and adds it to another: whatever
-- is inserted, the balances of all accounts of a currency sum to zero.

CREATE TABLE ledger_transfer (
    merchant_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('charge', 'refund', 'fee', 'reversal')),
    -- The id of the charge, refund, fee or reversal: each is recorded once.
    source text NOT NULL CHECK (length(source) BETWEEN 1 AND 255),
    payment_id uuid NOT NULL,
    debited text NOT NULL CHECK (length(debited) BETWEEN 1 AND 50),
    credited text NOT NULL CHECK (length(credited) BETWEEN 1 AND 50),
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    -- Who says that the money moved.
    stated_by text NOT NULL CHECK (stated_by IN ('provider', 'merchant')),
    recorded_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, kind, source),
    CONSTRAINT ledger_transfer_amount CHECK (amount_minor > 0),
    CONSTRAINT ledger_transfer_accounts CHECK (
        debited <> credited
        AND CASE kind WHEN 'charge' THEN credited = 'sales' WHEN 'refund' THEN debited = 'refunds'
                      WHEN 'fee' THEN debited = 'fees' ELSE debited = 'reversals' END),
    FOREIGN KEY (merchant_id, payment_id) REFERENCES payment
);
CREATE INDEX ledger_transfer_of_payment ON ledger_transfer (merchant_id, payment_id);

ALTER TABLE ledger_transfer ENABLE ROW LEVEL SECURITY;
ALTER TABLE ledger_transfer FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON ledger_transfer TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON ledger_transfer TO souk_platform USING (true);
-- Nothing is changed or deleted: what was wrong is reversed.
GRANT SELECT ON ledger_transfer TO souk_store, souk_platform;
GRANT INSERT ON ledger_transfer TO souk_checkout;
