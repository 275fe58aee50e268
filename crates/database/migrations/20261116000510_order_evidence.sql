-- owner: orders
-- Shipping and tax of an order, and whether agent and person shared an address.

ALTER TABLE placed_order
    ADD COLUMN shipping_minor bigint CHECK (shipping_minor >= 0),
    ADD COLUMN tax_minor bigint CHECK (tax_minor >= 0),
    -- Whether the approval came from the address of the agent; null if it is not known.
    ADD COLUMN same_address boolean;
