//! Delivered orders over all days, by account: rows of days are kept for a while only. An account counts up to a limit, so that
//! nobody ends the provisional time of a store alone.

use std::collections::{BTreeMap, HashMap};

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::evidence::ACCOUNT_DELIVERED_MAX;
use crate::{AgentDay, Day};

/// Rows that are read by one statement.
const PAGE: i64 = 1_000;

/// Delivered orders by account.
pub(crate) type Delivered = BTreeMap<Uuid, i64>;

/// The delivered orders of a store.
#[derive(Debug)]
pub(crate) struct DeliveredTotal {
    stored_total: i64,
    /// As the tallies of accounts have them.
    stored: Delivered,
    /// As the facts of days before a day and the rows since then have them.
    counted: Delivered,
}

impl DeliveredTotal {
    /// Returns the stored number and the counted one.
    pub(crate) fn totals(&self) -> (i64, i64) {
        let counted = self.counted.values().map(|orders| orders.min(&ACCOUNT_DELIVERED_MAX));
        (self.stored_total, counted.sum())
    }

    /// Returns whether the tallies are what was counted.
    pub(crate) fn is_right(&self) -> bool {
        let (stored, counted) = self.totals();
        stored == counted && self.stored == self.counted
    }
}

/// Adds the delivered orders of computed rows to the tallies of a store, and removes those of the stored rows that they replace.
/// The tally of the store must be locked.
pub(crate) async fn replace_delivered(
    work: &mut Work,
    merchant: MerchantId,
    stored: &[AgentDay],
    computed: &[AgentDay],
) -> sqlx::Result<()> {
    let mut changes = Delivered::new();
    for (rows, sign) in [(computed, 1), (stored, -1)] {
        for row in rows.iter().filter(|row| row.counts.delivered > 0) {
            *changes.entry(row.account.0).or_default() += sign * i64::from(row.counts.delivered);
        }
    }
    add_delivered(work, merchant, changes).await
}

async fn add_delivered(
    work: &mut Work,
    merchant: MerchantId,
    mut changes: Delivered,
) -> sqlx::Result<()> {
    changes.retain(|_, more| *more != 0);
    if changes.is_empty() {
        return Ok(());
    }
    let (accounts, more): (Vec<Uuid>, Vec<i64>) = changes.into_iter().unzip();
    sqlx::query!(
        "WITH changed AS (
             SELECT changed.account_id, coalesce(tally.delivered, 0) AS former,
                    greatest(coalesce(tally.delivered, 0) + changed.more, 0) AS delivered
             FROM unnest($2::uuid[], $3::bigint[]) AS changed (account_id, more)
             LEFT JOIN trust_account_tally AS tally
                 ON tally.merchant_id = $1 AND tally.account_id = changed.account_id
         ), added AS (
             INSERT INTO trust_account_tally (merchant_id, account_id, delivered)
             SELECT $1::uuid, account_id, delivered FROM changed WHERE delivered > 0
             ON CONFLICT (merchant_id, account_id) DO UPDATE SET delivered = excluded.delivered
         ), removed AS (
             DELETE FROM trust_account_tally AS tally USING changed
             WHERE tally.merchant_id = $1 AND tally.account_id = changed.account_id AND changed.delivered = 0
         )
         UPDATE trust_tally SET delivered = greatest(delivered + (
             SELECT sum(least(delivered, $4) - least(former, $4))::bigint FROM changed), 0)
         WHERE merchant_id = $1",
        merchant as MerchantId,
        &accounts,
        &more,
        ACCOUNT_DELIVERED_MAX,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Sets the tallies of a store to what was counted. The tally of the store must be locked.
pub(crate) async fn set_delivered(
    work: &mut Work,
    merchant: MerchantId,
    delivered: &DeliveredTotal,
) -> sqlx::Result<()> {
    let mut changes = delivered.counted.clone();
    for (account, orders) in &delivered.stored {
        *changes.entry(*account).or_default() -= orders;
    }
    add_delivered(work, merchant, changes).await?;
    let (_, counted) = delivered.totals();
    sqlx::query!(
        "UPDATE trust_tally SET delivered = $2 WHERE merchant_id = $1",
        merchant as MerchantId,
        counted,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Where a page of deliveries begins: after this time and order.
pub(crate) type DeliveryCursor = (Timestamp, Uuid);

/// A delivery of an order.
struct Delivery {
    at: Timestamp,
    order: Uuid,
    /// The account that it counts for, if it does.
    account: Option<Uuid>,
}

/// Adds a page of the deliveries of a store before a day, by the facts, which are kept: those after `after`. Returns where the next
/// page begins; `None` after the last one. What was delivered so long ago changes no more, so that each page has a transaction of
/// its own.
pub(crate) async fn add_deliveries_before(
    sql: &mut PgConnection,
    merchant: MerchantId,
    before: Day,
    after: Option<DeliveryCursor>,
    delivered: &mut Delivered,
) -> sqlx::Result<Option<DeliveryCursor>> {
    let (at, order) = after.unwrap_or((Timestamp::from_unix_micros(0), Uuid::nil()));
    let page = sqlx::query_as!(
        Delivery,
        r#"SELECT page.occurred_at AS "at!: Timestamp", page.order_id AS "order!", owned.user_id AS "account?"
           FROM (SELECT occurred_at, order_id FROM order_history
                 WHERE merchant_id = $1 AND occurred_at < $2 AND (occurred_at, order_id) > ($3, $4)
                   AND kind = 'status_changed' AND status = 'delivered'
                 ORDER BY occurred_at, order_id LIMIT $5) AS page
           LEFT JOIN trust_order AS placed
               ON placed.merchant_id = $1 AND placed.order_id = page.order_id
              AND placed.status <> 'failed' AND NOT placed.is_paid_late
           LEFT JOIN platform.agent_key AS owned ON owned.key_id = placed.agent_key_id
           ORDER BY page.occurred_at, page.order_id"#,
        merchant as MerchantId,
        before.start() as Timestamp,
        at as Timestamp,
        order,
        PAGE,
    )
    .fetch_all(sql)
    .await?;
    for account in page.iter().filter_map(|delivery| delivery.account) {
        *delivered.entry(account).or_default() += 1;
    }
    Ok(full_page(&page).map(|last| (last.at, last.order)))
}

/// Counts the delivered orders of a store: to those before a day, which the caller has counted, it adds those of the rows since
/// then, so that facts that are not in the rows yet are not counted twice later.
pub(crate) async fn count_delivered(
    sql: &mut PgConnection,
    merchant: MerchantId,
    since: Day,
    before: Delivered,
) -> sqlx::Result<DeliveredTotal> {
    let mut counted = before;
    add_rows_since(sql, merchant, since, &mut counted).await?;
    let stored = tallies(sql, merchant).await?;
    let stored_total = sqlx::query_scalar!(
        "SELECT delivered FROM trust_tally WHERE merchant_id = $1",
        merchant as MerchantId,
    )
    .fetch_optional(sql)
    .await?;
    Ok(DeliveredTotal { stored_total: stored_total.unwrap_or(0), stored, counted })
}

/// Adds the delivered orders of the rows of a store since a day, a page at a time.
async fn add_rows_since(
    sql: &mut PgConnection,
    merchant: MerchantId,
    since: Day,
    delivered: &mut Delivered,
) -> sqlx::Result<()> {
    let (mut day, mut account) = (since.0, Uuid::nil());
    loop {
        let page = sqlx::query!(
            r#"SELECT day - DATE '1970-01-01' AS "day!", account_id AS account, delivered FROM trust_agent_day
               WHERE merchant_id = $1 AND (day, account_id) > (DATE '1970-01-01' + $2::int, $3) AND delivered > 0
               ORDER BY day, account_id LIMIT $4"#,
            merchant as MerchantId,
            day,
            account,
            PAGE,
        )
        .fetch_all(&mut *sql)
        .await?;
        for row in &page {
            *delivered.entry(row.account).or_default() += i64::from(row.delivered);
        }
        let Some(last) = full_page(&page) else { return Ok(()) };
        (day, account) = (last.day, last.account);
    }
}

/// Returns the tallies of all accounts of a store, read a page at a time.
async fn tallies(sql: &mut PgConnection, merchant: MerchantId) -> sqlx::Result<Delivered> {
    let (mut tallies, mut account) = (Delivered::new(), Uuid::nil());
    loop {
        let page = sqlx::query!(
            "SELECT account_id AS account, delivered FROM trust_account_tally
             WHERE merchant_id = $1 AND account_id > $2 ORDER BY account_id LIMIT $3",
            merchant as MerchantId,
            account,
            PAGE,
        )
        .fetch_all(&mut *sql)
        .await?;
        tallies.extend(page.iter().map(|row| (row.account, row.delivered)));
        let Some(last) = full_page(&page) else { return Ok(tallies) };
        account = last.account;
    }
}

/// Returns the last row of a page, after which another one may begin.
fn full_page<Row>(page: &[Row]) -> Option<&Row> {
    let is_full = i64::try_from(page.len()).is_ok_and(|rows| rows >= PAGE);
    page.last().filter(|_| is_full)
}

/// Returns how many of the delivered orders of stores were delivered after a day. Stores without any are left out.
pub(crate) async fn delivered_after(
    sql: &mut PgConnection,
    merchants: &[Uuid],
    day: Day,
) -> sqlx::Result<HashMap<MerchantId, i64>> {
    let rows = sqlx::query!(
        r#"SELECT since.merchant_id AS "merchant!: MerchantId",
                  sum(least(account.delivered, $3) - least(account.delivered - since.delivered, $3))::bigint AS "delivered!"
           FROM (SELECT merchant_id, account_id, sum(delivered) AS delivered FROM trust_agent_day
                 WHERE merchant_id = ANY ($1) AND day > DATE '1970-01-01' + $2::int AND delivered > 0
                 GROUP BY merchant_id, account_id) AS since
           JOIN trust_account_tally AS account
               ON account.merchant_id = since.merchant_id AND account.account_id = since.account_id
           GROUP BY since.merchant_id"#,
        merchants,
        day.0,
        ACCOUNT_DELIVERED_MAX,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(|row| (row.merchant, row.delivered)).collect())
}
