-- owner: payments
-- A payment can take place on a page of its provider, and its outcome can become known later. What of it is real money is counted
-- beside the ledger.

ALTER TABLE payment
    -- The provider's id of the attempt, such as its hosted page: its status is asked with it. `reference` is the id of the money.
    ADD COLUMN attempt_reference text,
    -- Where the buyer pays.
    ADD COLUMN page_url text,
    -- The hash of the terms that are paid.
    ADD COLUMN quote_hash bytea,
    -- Whether real money moves: neither at a test provider nor in a sandbox.
    ADD COLUMN is_live boolean NOT NULL DEFAULT false,
    -- Until when the buyer can pay.
    ADD COLUMN expires_at timestamptz,
    -- When the provider is asked next; not at all if it is null, except for payments of the previous release.
    ADD COLUMN next_check_at timestamptz,
    ADD COLUMN check_count integer NOT NULL DEFAULT 0,
    -- Sums of the ledger, and of refunds that are requested.
    ADD COLUMN charged_minor bigint NOT NULL DEFAULT 0,
    ADD COLUMN refunded_minor bigint NOT NULL DEFAULT 0,
    ADD COLUMN reversed_minor bigint NOT NULL DEFAULT 0,
    ADD COLUMN refunding_minor bigint NOT NULL DEFAULT 0;

ALTER TABLE payment DROP CONSTRAINT payment_status_check;
ALTER TABLE payment DROP CONSTRAINT payment_check;
ALTER TABLE payment
    ADD CONSTRAINT payment_status_check
        CHECK (status IN ('begun', 'open', 'processing', 'paid', 'declined', 'expired')) NOT VALID,
    ADD CONSTRAINT payment_ended
        CHECK ((status IN ('begun', 'open', 'processing')) = (ended_at IS NULL)) NOT VALID,
    -- An open attempt can be asked for, and paid.
    ADD CONSTRAINT payment_open
        CHECK (status <> 'open' OR (attempt_reference IS NOT NULL AND page_url IS NOT NULL)) NOT VALID,
    ADD CONSTRAINT payment_texts
        CHECK (length(attempt_reference) BETWEEN 1 AND 255 AND length(page_url) BETWEEN 1 AND 8192
               AND octet_length(quote_hash) = 32) NOT VALID,
    -- All of the amount is charged, or nothing, and only where real money moves.
    ADD CONSTRAINT payment_charged
        CHECK (charged_minor = 0 OR (charged_minor = amount_minor AND is_live)) NOT VALID,
    -- What goes back to the buyer never exceeds what was charged.
    ADD CONSTRAINT payment_returned
        CHECK (refunded_minor >= 0 AND reversed_minor >= 0 AND refunding_minor >= 0
               AND refunded_minor + reversed_minor + refunding_minor <= charged_minor) NOT VALID;
