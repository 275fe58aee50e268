-- owner: catalog
-- Units that are promised to somebody who is about to pay. The merchant's own number stays what the merchant says: a
-- new one may come at any time, and what is promised is taken off it when it is read.

ALTER TABLE product ADD COLUMN held integer NOT NULL DEFAULT 0;
ALTER TABLE variant ADD COLUMN held integer NOT NULL DEFAULT 0;
ALTER TABLE product ADD CONSTRAINT product_held CHECK (held >= 0) NOT VALID;
ALTER TABLE variant ADD CONSTRAINT variant_held CHECK (held >= 0) NOT VALID;

-- What sandboxes took off the shelf. Nothing of it is a sale: the store's own numbers know nothing of it.
CREATE TABLE sandbox_stock (
    merchant_id uuid NOT NULL,
    agent_key_id uuid NOT NULL,
    -- The variant, or the product if it has none.
    item_id uuid NOT NULL,
    held integer NOT NULL CHECK (held >= 0),
    sold integer NOT NULL CHECK (sold >= 0),
    touched_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, agent_key_id, item_id)
);
CREATE INDEX sandbox_stock_age ON sandbox_stock (touched_at);

ALTER TABLE sandbox_stock ENABLE ROW LEVEL SECURITY;
ALTER TABLE sandbox_stock FORCE ROW LEVEL SECURITY;
CREATE POLICY one_store ON sandbox_stock TO souk_store USING (merchant_id = current_merchant());
CREATE POLICY all_stores ON sandbox_stock TO souk_platform USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON sandbox_stock TO souk_store, souk_platform;
