-- owner: checkout
-- Which agent started the checkout that a merchant reports as paid: the events and sessions that say so are deleted before
-- the reports.

ALTER TABLE payment_report
    -- Null in reports from before this column; they count for no account.
    ADD COLUMN agent_key_id uuid;
