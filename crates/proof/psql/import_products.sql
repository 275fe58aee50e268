-- Runs the statements that the catalog crate sends for a feed without variants and reviews, on rows
-- copied into a staging table: the same statements in batches of 500, one transaction per batch. The
-- rows hold the values to store, so nothing is parsed, validated or normalized here. Whether the
-- products are new is a parameter, and row-level security does not apply.
\set ON_ERROR_STOP on
SET synchronous_commit = on;
CREATE TEMP TABLE staging (
    batch integer, product_id uuid, external_id text, category_id uuid, sku text, name text,
    description text, brand text, gtin text, mpn text, url text, condition text, price_minor bigint,
    currency text, list_price_minor bigint, stock_status text, stock_quantity integer,
    attributes jsonb, images jsonb, policies jsonb, fingerprint uuid
);
\copy staging FROM '{file}'
CREATE INDEX ON staging (batch);
ANALYZE staging (batch, product_id, external_id);

CREATE PROCEDURE pg_temp.import_products(merchant uuid, run uuid, are_new boolean) LANGUAGE plpgsql AS $$
DECLARE
    last integer;
BEGIN
    SELECT max(batch) INTO last FROM staging;
    FOR number IN 0 .. last LOOP
        IF are_new THEN
            INSERT INTO product
                (merchant_id, product_id, external_id, category_id, sku, name, description, brand, gtin,
                 mpn, url, condition, price_minor, currency, list_price_minor, stock_status,
                 stock_quantity, attributes, images, policies, listed_at, fingerprint, updated_at, run_id)
            SELECT merchant, new.product_id, new.external_id, new.category_id, new.sku, new.name,
                   new.description, new.brand, new.gtin, new.mpn, new.url, new.condition,
                   new.price_minor, new.currency, new.list_price_minor, new.stock_status,
                   new.stock_quantity, new.attributes, new.images, new.policies, now(),
                   new.fingerprint, now(), run
            FROM staging AS new WHERE new.batch = number ORDER BY new.external_id
            ON CONFLICT (merchant_id, external_id) DO NOTHING;
        ELSE
            PERFORM product.product_id FROM product JOIN staging USING (external_id)
            WHERE merchant_id = merchant AND batch = number
            ORDER BY product.external_id FOR UPDATE OF product;
            UPDATE product SET
                category_id = new.category_id, sku = new.sku, name = new.name,
                description = new.description, brand = new.brand, gtin = new.gtin, mpn = new.mpn,
                url = new.url, condition = new.condition, price_minor = new.price_minor,
                currency = new.currency, list_price_minor = new.list_price_minor,
                stock_status = new.stock_status, stock_quantity = new.stock_quantity,
                attributes = new.attributes, images = new.images, policies = new.policies,
                fingerprint = new.fingerprint, retired_at = NULL, updated_at = now(), run_id = run
            FROM staging AS new
            WHERE new.batch = number AND product.merchant_id = merchant
              AND product.product_id = new.product_id
              AND (product.retired_at IS NOT NULL OR
                   (product.category_id, product.sku, product.name, product.description, product.brand,
                    product.gtin, product.mpn, product.url, product.condition, product.price_minor,
                    product.currency, product.list_price_minor, product.stock_status,
                    product.stock_quantity, product.attributes, product.images, product.policies)
                   IS DISTINCT FROM
                   (new.category_id, new.sku, new.name, new.description, new.brand, new.gtin, new.mpn,
                    new.url, new.condition, new.price_minor, new.currency, new.list_price_minor,
                    new.stock_status, new.stock_quantity, new.attributes, new.images, new.policies));
        END IF;
        INSERT INTO price_history (merchant_id, product_id, price_minor, list_price_minor, currency, at)
        SELECT merchant, product_id, price_minor, list_price_minor, currency, now()
        FROM staging WHERE batch = number;
        INSERT INTO outbox (merchant_id, topic, subject, payload, at)
        SELECT merchant, 'product.changed', product_id, jsonb_build_object('product_id', product_id), now()
        FROM staging WHERE batch = number;
        COMMIT;
    END LOOP;
END
$$;
CALL pg_temp.import_products('{merchant}', '{run}', {are_new});
