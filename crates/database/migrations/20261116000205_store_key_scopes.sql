-- owner: identity
-- What a store key may do. Keys that exist could do everything and keep it; a new one has what it is given.

ALTER TABLE platform.store_key
    ADD COLUMN scopes text[] NOT NULL DEFAULT ARRAY['catalog', 'orders'] CHECK (
        cardinality(scopes) BETWEEN 1 AND 4
        AND scopes <@ ARRAY['catalog', 'orders', 'webhooks', 'settings']
    );
UPDATE platform.store_key SET scopes = ARRAY['catalog', 'orders', 'webhooks', 'settings'];
