-- owner: merchants
-- What owners state about their store, and whether they decided about its status themselves.

ALTER TABLE store
    ADD COLUMN logo_url text NOT NULL DEFAULT '' CHECK (length(logo_url) <= 2000),
    ADD COLUMN support_url text NOT NULL DEFAULT '' CHECK (length(support_url) <= 2000),
    -- An owner reopens what an owner paused or closed, and nothing that an operator did.
    ADD COLUMN status_by_owner boolean NOT NULL DEFAULT false;
