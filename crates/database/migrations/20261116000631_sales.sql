-- owner: catalog
-- contract: the new constraint allows what the old one allowed, and `unknown`
-- Prices that apply for a period, and products of which the merchant states no stock.

-- The price of the period, its begin and end, and the prices outside of it. `price_minor` is the price now.
ALTER TABLE product ADD COLUMN sale jsonb;
ALTER TABLE variant ADD COLUMN sale jsonb;
-- When the price of the product or of a variant changes next by itself.
ALTER TABLE product ADD COLUMN price_due_at timestamptz;

ALTER TABLE product DROP CONSTRAINT product_stock_status_check;
ALTER TABLE product ADD CONSTRAINT product_stock_status_check CHECK (stock_status IN
    ('in_stock', 'low_stock', 'out_of_stock', 'backorder', 'preorder', 'discontinued', 'unknown')) NOT VALID;
ALTER TABLE variant DROP CONSTRAINT variant_stock_status_check;
ALTER TABLE variant ADD CONSTRAINT variant_stock_status_check CHECK (stock_status IN
    ('in_stock', 'low_stock', 'out_of_stock', 'backorder', 'preorder', 'discontinued', 'unknown')) NOT VALID;
