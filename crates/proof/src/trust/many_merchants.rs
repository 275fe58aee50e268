//! Many merchants with the evidence of their scores, inserted by SQL in bulk: figures of their catalogs, rows of days, tallies,
//! and of one in ten everything else that a score reads.
//!
//! Everything follows from the number of a merchant, so that a run can be repeated. Ids are hashes, so that merchants are spread
//! over all slots of an epoch. One merchant in seven has nothing but defects and no buyers: its score is 0.

use std::time::Duration;

use database::Database;
use primitives::Timestamp;
use sqlx::PgConnection;
use testkit::{StoreBuilder, TestDatabase};
use trust::Epoch;

use crate::report::{Failure, grouped};

/// Merchants without anything good: those whose number is divisible by this.
pub(super) const POOR_EVERY: u32 = 7;
/// The slug of the store that all others are copies of.
const TEMPLATE: &str = "template";

/// Statements that insert the merchants. `$1` is their number, `$2` the time, `$3` the number of rows of days of each.
const FILL: [&str; 11] = [
    // One in ten began while the late epochs of a check were running, at one of twelve epochs before the time.
    "INSERT INTO store OVERRIDING SYSTEM VALUE
     SELECT (jsonb_populate_record(template, jsonb_build_object(
         'merchant_id', md5('merchant ' || n)::uuid, 'slug', 'store-' || n, 'number', 1000000 + n,
         'member_since', CASE WHEN n % 10 = 0 THEN $2::timestamptz - (n % 12 + 1) * interval '6 hours'
                              ELSE $2::timestamptz - interval '300 days' END))).*
     FROM (SELECT store AS template FROM store WHERE slug = 'template') AS one, generate_series(1, $1::integer) AS made (n)
     WHERE $3::integer >= 0",
    "INSERT INTO catalog_quality
         (merchant_id, products, complete, consistent, missing_price, missing_image, missing_gtin, foreign_currency,
          contradicting_stock, shared_gtin, computed_at, rated_products, rating_sum_hundredths, pushed_since)
     SELECT md5('merchant ' || n)::uuid, 40, CASE WHEN n % 7 = 0 THEN 0 ELSE 20 + n % 21 END,
            CASE WHEN n % 7 = 0 THEN 0 ELSE 30 + n % 11 END, 0, 0, 0, 0, 0, 0, $2::timestamptz,
            CASE WHEN n % 3 = 1 AND n % 7 > 0 THEN 10 ELSE 0 END, CASE WHEN n % 3 = 1 AND n % 7 > 0 THEN 4300 ELSE 0 END,
            CASE WHEN n % 7 = 0 THEN NULL ELSE $2::timestamptz - (n % 190) * interval '1 hour' END
     FROM generate_series(1, $1::integer) AS made (n) WHERE $3::integer >= 0",
    // The template has no products. A store without figures of its catalog would be left out.
    "INSERT INTO catalog_quality
         (merchant_id, products, complete, consistent, missing_price, missing_image, missing_gtin, foreign_currency,
          contradicting_stock, shared_gtin, computed_at)
     SELECT merchant_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, $2::timestamptz FROM store
     WHERE slug = 'template' AND $1::integer >= 0 AND $3::integer >= 0",
    "INSERT INTO store_policy (merchant_id, return_window_days, shipping_days_min, shipping_days_max, privacy_url)
     SELECT md5('merchant ' || n)::uuid, 30, 2, 4, CASE WHEN n % 2 = 0 THEN 'https://store.example/privacy' END
     FROM generate_series(1, $1::integer) AS made (n) WHERE n % 7 > 0 AND $2::timestamptz IS NOT NULL AND $3::integer >= 0",
    "INSERT INTO trust_agent_day
         (merchant_id, day, account_id, started, completed, lasting, kept, orders, amount_minor, in_stock, out_of_stock, on_time,
          late, delivered, price_equal, price_different, disputes_lost)
     SELECT md5('merchant ' || n)::uuid, ($2::timestamptz AT TIME ZONE 'UTC')::date - 1 - (k * 5 + n) % 94,
            md5('account ' || n || ' ' || k)::uuid, 2, 1, 1, CASE WHEN (n + k) % 9 = 0 THEN 0 ELSE 1 END, 1, 2000,
            CASE WHEN (n + k) % 9 = 0 THEN 0 ELSE 1 END, CASE WHEN (n + k) % 9 = 0 THEN 1 ELSE 0 END,
            CASE WHEN (n + k) % 5 = 0 THEN 0 ELSE 1 END, CASE WHEN (n + k) % 5 = 0 THEN 1 ELSE 0 END, 1, 1, 0, 0
     FROM generate_series(1, $1::integer) AS made (n), generate_series(1, $3::integer) AS row_of (k) WHERE n % 7 > 0",
    "INSERT INTO trust_tally (merchant_id, delivered, rolled_up_at)
     SELECT md5('merchant ' || n)::uuid, n % 40, $2::timestamptz
     FROM generate_series(1, $1::integer) AS made (n) WHERE $3::integer >= 0",
    // One in ten has everything else that a score reads: tallies of accounts, orders of other channels, refunds, a webhook
    // endpoint.
    "INSERT INTO trust_account_tally (merchant_id, account_id, delivered)
     SELECT md5('merchant ' || n)::uuid, md5('account ' || n || ' ' || k)::uuid, 1
     FROM generate_series(1, $1::integer) AS made (n), generate_series(1, $3::integer) AS row_of (k)
     WHERE n % 10 = 3 AND n % 7 > 0 AND $2::timestamptz IS NOT NULL",
    "INSERT INTO pushed_order (merchant_id, external_id, order_id, status, currency, total_minor, lines, placed_at, pushed_at)
     SELECT md5('merchant ' || n)::uuid, k::text, md5('pushed ' || n || ' ' || k)::uuid,
            CASE WHEN k % 10 = 0 THEN 'canceled' ELSE 'delivered' END, 'EUR', 2000, '[]',
            $2::timestamptz - k * interval '1 day', $2::timestamptz
     FROM generate_series(1, $1::integer) AS made (n), generate_series(1, 30) AS pushed (k)
     WHERE n % 10 = 3 AND $3::integer >= 0",
    "INSERT INTO placed_order
         (merchant_id, order_id, checkout_id, cart_id, agent_key_id, agent_name, is_sandbox, status, payment_provider,
          payment_reference, currency, total_minor, lines, terms, quote_hash, confirmation_level, created_at, updated_at,
          refunded_minor)
     SELECT md5('merchant ' || n)::uuid, id, id, id, id, 'agent', false, 'delivered', 'test', 'r-' || k, 'EUR', 2000,
            '[{\"quantity\": 1}]', '{}', decode(repeat('ab', 32), 'hex'), 'hosted', $2::timestamptz - k * interval '9 days',
            $2::timestamptz, 500
     FROM generate_series(1, $1::integer) AS made (n), generate_series(1, 5) AS refunded (k),
          LATERAL (SELECT md5('order ' || n || ' ' || k)::uuid AS id) AS named
     WHERE n % 10 = 3 AND $3::integer >= 0",
    "INSERT INTO order_refund (merchant_id, order_id, refund_id, amount_minor, reason, created_at)
     SELECT merchant_id, order_id, order_id, 500, 'damaged', created_at FROM placed_order
     WHERE $1::integer >= 0 AND $2::timestamptz IS NOT NULL AND $3::integer >= 0",
    "INSERT INTO webhook_endpoint
         (merchant_id, endpoint_id, slot, url, description, kinds, status, from_settings, secret, version, created_at, updated_at)
     SELECT md5('merchant ' || n)::uuid, md5('endpoint ' || n)::uuid, 1, 'https://store.example/hooks', '', '{order.created}',
            'enabled', false, 'secret', 1, $2::timestamptz, $2::timestamptz
     FROM generate_series(1, $1::integer) AS made (n) WHERE n % 10 = 3 AND $3::integer >= 0",
];

/// Inserts merchants as of a time, each with so many rows of days. Only the poor ones have none.
pub(super) async fn fill(
    test: &TestDatabase,
    database: &Database,
    merchants: u32,
    at: Timestamp,
    rows_each: u32,
) -> Result<(), Failure> {
    let long_ago = at.minus(Duration::from_hours(24 * 300));
    let template = StoreBuilder::new(TEMPLATE).with(|store| store.member_since = long_ago);
    template.build(database).await;
    let mut sql = test.raw().await;
    for statement in FILL {
        sqlx::query(statement)
            .bind(i32::try_from(merchants)?)
            .bind(at)
            .bind(i32::try_from(rows_each)?)
            .execute(&mut sql)
            .await
            .map_err(|error| format!("{} merchants: {error}", grouped(merchants)))?;
    }
    // The rows of days have no facts from which they could be counted again.
    sqlx::raw_sql("UPDATE trust_backfill SET completed_at = now()").execute(&mut sql).await?;
    sqlx::raw_sql("VACUUM ANALYZE").execute(&mut sql).await?;
    Ok(())
}

/// Records that all epochs up to this one are done, so that workers compute the following ones and no earlier ones.
pub(super) async fn is_done_until(sql: &mut PgConnection, epoch: Epoch) -> Result<(), Failure> {
    sqlx::query(
        "INSERT INTO trust_epoch (epoch, order_key, position, opened_at, updated_at)
         SELECT epoch, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', now(), now()
         FROM generate_series($1::bigint - 40, $1::bigint) AS done (epoch)",
    )
    .bind(epoch.0)
    .execute(sql)
    .await?;
    Ok(())
}
