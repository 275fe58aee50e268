-- no-transaction
-- owner: catalog
-- These figures of the catalogs that exist, in short transactions. Row-level security applies to the owner of the tables too.

DO $$
DECLARE
    page uuid[];
    done uuid;
BEGIN
    PERFORM set_config('role', 'souk_platform', false);
    LOOP
        page := ARRAY(SELECT merchant_id FROM catalog_quality WHERE done IS NULL OR merchant_id > done
                      ORDER BY merchant_id LIMIT 100);
        EXIT WHEN cardinality(page) = 0;
        UPDATE catalog_quality SET (rated_products, rating_sum_hundredths, pushed_since) = (
            SELECT count(rating_hundredths), coalesce(sum(rating_hundredths), 0),
                   nullif(percentile_disc(0.05) WITHIN GROUP (ORDER BY coalesce(pushed_at, '-infinity')), '-infinity')
            FROM product WHERE product.merchant_id = catalog_quality.merchant_id AND product.retired_at IS NULL)
        WHERE merchant_id = ANY (page);
        done := page[cardinality(page)];
        COMMIT;
    END LOOP;
    PERFORM set_config('role', 'none', false);
END
$$;
