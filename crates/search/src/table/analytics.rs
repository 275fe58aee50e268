//! Search tallies by day.

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::SearchTally;
use crate::analytics::{Counts, TallyKey};

/// Tallies as columns.
#[derive(Default)]
struct Columns {
    merchants: Vec<Uuid>,
    queries: Vec<String>,
    callers: Vec<String>,
    searches: Vec<i64>,
    without_result: Vec<i64>,
    hits: Vec<i64>,
}

impl Columns {
    fn push(&mut self, key: &TallyKey, counts: Counts) {
        self.merchants.extend(key.store.map(MerchantId::uuid));
        self.queries.push(key.query.clone());
        self.callers.push(key.caller.as_str().to_owned());
        self.searches.push(counts.searches);
        self.without_result.push(counts.without_result);
        self.hits.push(counts.hits);
    }
}

/// Adds counts to the tallies of the day: those of single stores, and those across stores.
pub(crate) async fn add_tallies(work: &mut Work, rows: &[(&TallyKey, Counts)]) -> sqlx::Result<()> {
    let (mut per_store, mut across_stores) = (Columns::default(), Columns::default());
    for (key, counts) in rows {
        let columns = if key.store.is_some() { &mut per_store } else { &mut across_stores };
        columns.push(key, *counts);
    }
    if !per_store.queries.is_empty() {
        add_store_tallies(work, &per_store).await?;
    }
    if !across_stores.queries.is_empty() {
        add_platform_tallies(work, &across_stores).await?;
    }
    Ok(())
}

async fn add_store_tallies(work: &mut Work, columns: &Columns) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO search_tally AS kept
             (merchant_id, day, query, caller, searches, without_result, hits)
         SELECT new.merchant_id, ($7::timestamptz AT TIME ZONE 'UTC')::date, new.query, new.caller,
                new.searches, new.without_result, new.hits
         FROM unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
              AS new (merchant_id, query, caller, searches, without_result, hits)
         ON CONFLICT (merchant_id, day, query, caller) DO UPDATE SET
             searches = kept.searches + excluded.searches,
             without_result = kept.without_result + excluded.without_result,
             hits = kept.hits + excluded.hits",
        &columns.merchants,
        &columns.queries,
        &columns.callers,
        &columns.searches,
        &columns.without_result,
        &columns.hits,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

async fn add_platform_tallies(work: &mut Work, columns: &Columns) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO platform.search_tally AS kept
             (day, query, caller, searches, without_result, hits)
         SELECT ($6::timestamptz AT TIME ZONE 'UTC')::date, new.query, new.caller, new.searches,
                new.without_result, new.hits
         FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
              AS new (query, caller, searches, without_result, hits)
         ON CONFLICT (day, query, caller) DO UPDATE SET
             searches = kept.searches + excluded.searches,
             without_result = kept.without_result + excluded.without_result,
             hits = kept.hits + excluded.hits",
        &columns.queries,
        &columns.callers,
        &columns.searches,
        &columns.without_result,
        &columns.hits,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Order of tallies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Most searches first.
    Searches,
    /// Most searches without result first; queries that always had results are left out.
    WithoutResult,
}

pub(crate) async fn store_tallies(
    sql: &mut PgConnection,
    merchant: MerchantId,
    now: Timestamp,
    days: i32,
    limit: i64,
    order: Order,
) -> sqlx::Result<Vec<SearchTally>> {
    sqlx::query_as!(
        SearchTally,
        r#"SELECT query, sum(searches)::bigint AS "searches!",
                  sum(without_result)::bigint AS "without_result!",
                  (sum(hits) / greatest(sum(searches), 1))::float8 AS "average_hits!"
           FROM search_tally
           WHERE merchant_id = $1 AND day > ($2::timestamptz AT TIME ZONE 'UTC')::date - $3::integer
           GROUP BY query
           HAVING NOT $5 OR sum(without_result) > 0
           ORDER BY CASE WHEN $5 THEN sum(without_result) ELSE sum(searches) END DESC, query
           LIMIT $4"#,
        merchant as MerchantId,
        now as Timestamp,
        days,
        limit,
        order == Order::WithoutResult,
    )
    .fetch_all(sql)
    .await
}

pub(crate) async fn tallies(
    sql: &mut PgConnection,
    now: Timestamp,
    days: i32,
    limit: i64,
    order: Order,
) -> sqlx::Result<Vec<SearchTally>> {
    sqlx::query_as!(
        SearchTally,
        r#"SELECT query, sum(searches)::bigint AS "searches!",
                  sum(without_result)::bigint AS "without_result!",
                  (sum(hits) / greatest(sum(searches), 1))::float8 AS "average_hits!"
           FROM platform.search_tally
           WHERE day > ($1::timestamptz AT TIME ZONE 'UTC')::date - $2::integer
           GROUP BY query
           HAVING NOT $4 OR sum(without_result) > 0
           ORDER BY CASE WHEN $4 THEN sum(without_result) ELSE sum(searches) END DESC, query
           LIMIT $3"#,
        now as Timestamp,
        days,
        limit,
        order == Order::WithoutResult,
    )
    .fetch_all(sql)
    .await
}

/// Deletes up to `limit` tallies per table of days before a time. Returns how many.
pub(crate) async fn remove_tallies(
    work: &mut Work,
    before: Timestamp,
    limit: i64,
) -> sqlx::Result<u64> {
    let per_store = sqlx::query!(
        "DELETE FROM search_tally WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM search_tally
             WHERE day < ($1::timestamptz AT TIME ZONE 'UTC')::date LIMIT $2))",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    let across_stores = sqlx::query!(
        "DELETE FROM platform.search_tally WHERE ctid = ANY (ARRAY(
             SELECT ctid FROM platform.search_tally
             WHERE day < ($1::timestamptz AT TIME ZONE 'UTC')::date LIMIT $2))",
        before as Timestamp,
        limit,
    )
    .execute(work.sql())
    .await?;
    Ok(per_store.rows_affected() + across_stores.rows_affected())
}
