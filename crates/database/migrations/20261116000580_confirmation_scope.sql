-- owner: checkout
-- What the confirmation of a session covers: `items` of an open quote, or the `total`.

ALTER TABLE checkout_session ADD COLUMN confirmation_scope text;
