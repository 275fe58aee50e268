-- owner: catalog
-- What a store sells.

CREATE TABLE category (
    merchant_id uuid NOT NULL,
    category_id uuid NOT NULL,
    parent_id uuid,
    -- The way from the root: home-kitchen/coffee.
    path text NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (merchant_id, category_id),
    UNIQUE (merchant_id, path),
    FOREIGN KEY (merchant_id, parent_id) REFERENCES category (merchant_id, category_id)
);

CREATE TABLE product (
    merchant_id uuid NOT NULL,
    product_id uuid NOT NULL,
    category_id uuid NOT NULL,
    sku text NOT NULL CHECK (length(sku) BETWEEN 1 AND 100),
    name text NOT NULL CHECK (length(name) BETWEEN 1 AND 300),
    description text NOT NULL,
    brand text NOT NULL,
    gtin text CHECK (gtin ~ '^[0-9]{8,14}$'),
    condition text NOT NULL CHECK (condition IN ('new', 'refurbished', 'used')),
    price_minor bigint NOT NULL CHECK (price_minor >= 0),
    currency text NOT NULL,
    list_price_minor bigint CHECK (list_price_minor > price_minor),
    stock_status text NOT NULL CHECK (stock_status IN
        ('in_stock', 'low_stock', 'out_of_stock', 'backorder', 'preorder', 'discontinued')),
    stock_quantity integer CHECK (stock_quantity >= 0),
    -- As the merchant claims them: hundredths of a star, 0 to 500.
    rating_hundredths integer CHECK (rating_hundredths BETWEEN 0 AND 500),
    rating_count integer CHECK (rating_count >= 0),
    attributes jsonb NOT NULL DEFAULT '{}',
    images jsonb NOT NULL DEFAULT '[]',
    listed_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (merchant_id, product_id),
    UNIQUE (merchant_id, sku),
    FOREIGN KEY (merchant_id, category_id) REFERENCES category (merchant_id, category_id)
);
CREATE INDEX product_category ON product (merchant_id, category_id);

CREATE TABLE variant (
    merchant_id uuid NOT NULL,
    variant_id uuid NOT NULL,
    product_id uuid NOT NULL,
    -- The order the merchant shows them in.
    place integer NOT NULL,
    sku text NOT NULL,
    name text NOT NULL,
    gtin text CHECK (gtin ~ '^[0-9]{8,14}$'),
    options jsonb NOT NULL DEFAULT '{}',
    price_minor bigint NOT NULL CHECK (price_minor >= 0),
    stock_status text NOT NULL CHECK (stock_status IN
        ('in_stock', 'low_stock', 'out_of_stock', 'backorder', 'preorder', 'discontinued')),
    stock_quantity integer CHECK (stock_quantity >= 0),
    PRIMARY KEY (merchant_id, variant_id),
    UNIQUE (merchant_id, sku),
    FOREIGN KEY (merchant_id, product_id) REFERENCES product (merchant_id, product_id) ON DELETE CASCADE
);
CREATE INDEX variant_product ON variant (merchant_id, product_id, place);

DO $$
DECLARE
    tenant_table text;
BEGIN
    FOREACH tenant_table IN ARRAY ARRAY['category', 'product', 'variant'] LOOP
        EXECUTE format('CREATE POLICY one_store ON %I TO souk_store USING (merchant_id = current_merchant())', tenant_table);
        EXECUTE format('CREATE POLICY all_stores ON %I TO souk_platform USING (true)', tenant_table);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO souk_store, souk_platform', tenant_table);
    END LOOP;
END
$$;
ALTER TABLE category ENABLE ROW LEVEL SECURITY;
ALTER TABLE category FORCE ROW LEVEL SECURITY;
ALTER TABLE product ENABLE ROW LEVEL SECURITY;
ALTER TABLE product FORCE ROW LEVEL SECURITY;
ALTER TABLE variant ENABLE ROW LEVEL SECURITY;
ALTER TABLE variant FORCE ROW LEVEL SECURITY;
