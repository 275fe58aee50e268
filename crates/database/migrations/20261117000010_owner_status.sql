-- owner: merchants
-- What owners decided about their store, kept while an operator's decision is in force: `status` is the operator's decision,
-- or the owner's if the operator's is `open`.

ALTER TABLE store
    ADD COLUMN owner_status text NOT NULL DEFAULT 'open'
        CONSTRAINT store_owner_status_known CHECK (owner_status IN ('open', 'paused', 'closed'));

UPDATE store SET owner_status = status WHERE status_by_owner AND status IN ('paused', 'closed');
UPDATE store SET status_by_owner = false WHERE status_by_owner AND status NOT IN ('paused', 'closed');

ALTER TABLE store
    ADD CONSTRAINT store_status_decided CHECK (
        CASE WHEN status_by_owner THEN status = owner_status AND status <> 'open'
             ELSE status <> 'open' OR owner_status = 'open' END);
