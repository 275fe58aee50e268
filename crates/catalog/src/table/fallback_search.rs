//! Searching one store without the search index.

use std::collections::BTreeMap;

use primitives::{CategoryId, Currency, MerchantId, ProductId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::read::{ProductRow, products, visible_currencies, with_merchants_and_variants};
use crate::{FallbackQuery, Image, PriceRange, Product, ProductPolicies};

/// Returns a page of the matching products, and their total number. All other filters are applied before the words, so
/// that the text of as few rows as possible is tokenized, and once each (`OFFSET 0`). Accents are removed after
/// decomposition (NFD).
pub(crate) async fn fallback_search(
    sql: &mut PgConnection,
    merchant: MerchantId,
    query: &FallbackQuery,
    searched_max: i64,
    limit: i64,
    offset: i64,
) -> sqlx::Result<(Vec<Product>, i64)> {
    let words = query.words.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let ranges = Ranges::of(&query.prices);
    let units: Vec<f64> = Currency::SUPPORTED.iter().map(|it| unit(*it)).collect();
    let rows = products!(
        r#"count(*) OVER () AS "total!""#,
        from r"(SELECT own.*
                FROM product AS own JOIN category AS place USING (merchant_id, category_id)
                WHERE own.merchant_id = $2 AND own.retired_at IS NULL AND own.currency = ANY ($1)
                  AND ($4::text IS NULL OR place.path = $4 OR starts_with(place.path, $4 || '/')
                       OR lower(place.name) = lower($4))
                  AND ($5::text IS NULL OR lower(own.brand) = lower($5))
                  AND (cardinality($6::text[]) = 0 OR EXISTS (
                       SELECT FROM unnest($6::text[], $7::bigint[], $8::bigint[])
                              AS range (currency, lowest, highest)
                       WHERE range.currency = own.currency
                         AND own.price_minor >= coalesce(range.lowest, own.price_minor)
                         AND own.price_minor <= coalesce(range.highest, own.price_minor)))
                  AND (NOT $9 OR own.stock_status IN ('in_stock', 'low_stock'))
                ORDER BY own.listed_at DESC, own.product_id
                LIMIT CASE WHEN $3::text IS NULL THEN NULL ELSE $10::bigint END) AS product
               JOIN category USING (merchant_id, category_id)
               CROSS JOIN LATERAL (
                   SELECT CASE WHEN $3::text IS NOT NULL THEN
                              setweight(to_tsvector('simple', regexp_replace(normalize(
                                  concat_ws(' ', product.name, product.brand), NFD), '[\u0300-\u036f]', '', 'g')), 'A')
                              || to_tsvector('simple', regexp_replace(normalize(
                                  concat_ws(' ', category.name, replace(category.path, '/', ' '), product.sku,
                                            (SELECT string_agg(value, ' ') FROM jsonb_each_text(product.attributes)),
                                            product.description), NFD), '[\u0300-\u036f]', '', 'g'))
                          END AS held,
                          plainto_tsquery('simple', regexp_replace(
                              normalize(coalesce($3, ''), NFD), '[\u0300-\u036f]', '', 'g')) AS wanted
                   OFFSET 0) AS words
               WHERE category.merchant_id = $2 AND ($3::text IS NULL OR words.held @@ words.wanted) ",
        "ORDER BY CASE WHEN $11::text = 'relevance' AND $3::text IS NOT NULL
                       THEN ts_rank(words.held, words.wanted) END DESC NULLS LAST,
                  CASE $11::text WHEN 'price_asc' THEN price_minor WHEN 'price_desc' THEN -price_minor END
                      / (SELECT unit FROM unnest($1::text[], $12::float8[]) AS known (currency, unit)
                         WHERE known.currency = product.currency),
                  product.listed_at DESC, product.product_id
         LIMIT $13 OFFSET $14",
        merchant as MerchantId,
        words,
        query.category,
        query.brand,
        &ranges.currencies,
        &ranges.lowest as _,
        &ranges.highest as _,
        query.in_stock_only,
        searched_max,
        query.sort.as_str(),
        &units,
        limit,
        offset
    )
    .fetch_all(&mut *sql)
    .await?;
    let total = rows.first().map_or(0, |row| row.total);
    let products = with_merchants_and_variants(sql, rows).await?;
    Ok((products.into_iter().map(|(_, product)| product).collect(), total))
}

/// Price ranges as columns.
struct Ranges {
    currencies: Vec<String>,
    lowest: Vec<Option<i64>>,
    highest: Vec<Option<i64>>,
}

impl Ranges {
    fn of(ranges: &[PriceRange]) -> Self {
        Self {
            currencies: ranges.iter().map(|range| range.currency.to_string()).collect(),
            lowest: ranges.iter().map(|range| range.min_minor).collect(),
            highest: ranges.iter().map(|range| range.max_minor).collect(),
        }
    }
}

/// Returns the number of minor units in one unit of a currency.
fn unit(currency: Currency) -> f64 {
    f64::from(10_u32.saturating_pow(currency.decimals()))
}
