-- owner: checkout
-- Which agent started the checkout that a merchant reports as paid: the events and sessions that say so are deleted before
-- the reports.

ALTER TABLE payment_report
    -- Null in reports from before this column; they count for no account.
    ADD COLUMN agent_key_id uuid;
-- A merchant sees which of its reports stated another price than the quote.
GRANT SELECT ON payment_report TO souk_store;
