//! Import throughput by the number of products that the store already has.

use std::ops::Range;

use catalog::{FeedRunMode, ProductDraft};
use primitives::MerchantId;
use sqlx::PgConnection;

use super::{Bench, import_feed, rows};
use crate::catalog::store::merchant;
use crate::report::{Failure, ensure, grouped};
use crate::table_print::{Spread, Table};

const SIZES: [u32; 3] = [10_000, 100_000, 1_000_000];
const ROUNDS: u32 = 3;
/// Number of new products and of changed products in a feed.
const EACH: u32 = 10_000;

pub(super) async fn run(bench: &mut Bench) -> Result<(), Failure> {
    bench.clear().await?;
    println!();
    println!(
        "products merged per second ({} new and {} changed), by products in the store; median of {ROUNDS} rounds",
        grouped(EACH),
        grouped(EACH)
    );
    let mut table = Table::new(&["products before", "souk", "with upload"]);
    let mut stored = 0;
    for size in SIZES {
        fill(&mut bench.sql, merchant(), "e", stored..size).await?;
        stored = size;
        let (mut applied, mut with_upload) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            sqlx::raw_sql("CHECKPOINT").execute(&mut bench.sql).await?;
            let feed = rows::as_feed(&mixed(size, round))?;
            let (run, one, other) = import_feed(&bench.database, &feed, FeedRunMode::Merge).await?;
            let done = (run.counts.created, run.counts.updated);
            ensure(done == (i64::from(EACH), i64::from(EACH)), || {
                format!("unexpected result of the run: {run:?}")
            })?;
            applied.push(f64::from(2 * EACH) / one.as_secs_f64());
            with_upload.push(f64::from(2 * EACH) / other.as_secs_f64());
        }
        let (applied, with_upload) = (Spread::of(applied).show(0), Spread::of(with_upload).show(0));
        table.add(vec![grouped(size), applied, with_upload]);
    }
    table.print();
    Ok(())
}

/// Returns new products interleaved with changed ones from all parts of the catalog.
fn mixed(size: u32, round: u32) -> Vec<ProductDraft> {
    let edition = size / 100 + round;
    let pair = |number: u32| {
        let existing = number * (size / EACH);
        let new = (edition % 100_000) * EACH + number;
        [rows::draft("e", existing, edition), rows::draft("n", new, edition)]
    };
    (0..EACH).flat_map(pair).collect()
}

/// Inserts products into a store with one statement, bypassing the catalog crate.
pub(super) async fn fill(
    sql: &mut PgConnection,
    merchant: MerchantId,
    family: &str,
    numbers: Range<u32>,
) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO category (merchant_id, category_id, parent_id, path, name)
         SELECT $1, category_id, parent_id, path, name FROM category ON CONFLICT DO NOTHING",
    )
    .bind(merchant)
    .execute(&mut *sql)
    .await?;
    let insert = sqlx::query(
        "INSERT INTO product
             (merchant_id, product_id, external_id, category_id, sku, name, description, brand, gtin, mpn,
              url, condition, price_minor, currency, list_price_minor, stock_status, stock_quantity,
              attributes, images, listed_at, updated_at)
         SELECT $1, md5($2 || n)::uuid, id, lpad(to_hex(100 + n % $5), 32, '0')::uuid, id, 'Mug No. ' || n,
                repeat('Fired twice and glazed by hand. ', 8), 'Salgueira', lpad(n::text, 13, '0'),
                'SG-' || n, 'https://attic.example/shop/' || id, 'new', 500 + n % 9000, 'EUR',
                CASE WHEN n % 4 = 0 THEN 10000 END, 'in_stock', 10,
                '{\"material\": \"stoneware\", \"colour\": \"blue\", \"capacity\": \"330 ml\"}',
                jsonb_build_array(jsonb_build_object('url', 'https://cdn.attic.example/' || id, 'alt', '')),
                '2026-01-01'::timestamptz + n * interval '1 second', '2026-01-01'
         FROM (SELECT n, $2 || lpad(n::text, 7, '0') AS id FROM generate_series($3, $4) AS n) AS numbered",
    );
    insert
        .bind(merchant)
        .bind(family)
        .bind(i32::try_from(numbers.start)?)
        .bind(i32::try_from(numbers.end)? - 1)
        .bind(i32::try_from(rows::CATEGORIES)?)
        .execute(&mut *sql)
        .await?;
    sqlx::raw_sql("VACUUM ANALYZE product").execute(&mut *sql).await?;
    Ok(())
}
