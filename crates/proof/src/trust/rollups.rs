//! `rollups`: buyers of three accounts buy, leave checkouts unpaid and open disputes, their merchant reports amounts that are
//! right or wrong, of quotes that are open or not, and cancels orders for every reason; programs act at random on orders of the
//! last ninety days; meanwhile servers, workers and PostgreSQL are killed. Then the rows of days must equal a rebuild from the
//! facts, byte by byte, and their sums what SQL counts apart from the crate. After that every event is published again, twice
//! and in random order: the rows stay the same.
//!
//! Orders of the past are copies of bought ones, whose times and accounts are set by SQL, because nobody can buy in the past; a
//! rebuild counts them before the run. Days are due as soon as they are marked: a task of the check does away with the delay, so
//! that they are computed again and again while processes are killed. No scores are computed, as in every check that does not ask
//! for them.
//!
//! The check detects a mark that is lost with its transaction, a day that is computed from facts that were not visible yet, an
//! increment that is applied twice, and a promised time that passes unnoticed. A row that is wrong has to be found by the
//! comparison and mended by the rebuild: otherwise the comparison compares nothing.

mod buyers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Database, Reading, Work};
use jobs::NewEvent;
use primitives::{MerchantId, OrderId, ProductId};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use serde_json::json;
use sqlx::{Connection, PgConnection};
use testkit::TestDatabase;
use tokio::task::JoinHandle;
use uuid::Uuid;

use self::buyers::{Buyers, Desk};
use crate::checkout::store::Agent;
use crate::engines::Engines;
use crate::identity::{Account, agent_key_for};
use crate::orders::{Actors, OrderStore, SLUG};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, output};

/// Orders of the past that programs act on.
const ORDERS: usize = 150;
/// Further accounts; the first is that of the store.
const ACCOUNTS: [&str; 2] = ["bob@example.com", "carol@example.com"];
/// The position in the outbox, and its topics.
const CURSOR: &str = "trust.rollups";
const TOPICS: [&str; 3] = ["order.changed", "checkout.changed", "payment.reported"];
/// Purchases that a run waits for.
const PURCHASES_MIN: usize = 20;
/// How long workers may take until nothing is stale.
const SETTLED_MAX: Duration = Duration::from_secs(90);
/// Events published with one transaction.
const EVENTS: usize = 200;

// Days are counted again as long as the events of their checkouts are kept.
const _: () = assert!(
    trust::COMPLETE_DAYS.unsigned_abs() as u64 * 24 * 60 * 60 < checkout::EVENT_LIFETIME.as_secs()
);

/// Makes days due that were marked. Rows that somebody has locked are left: this statement never waits.
const HURRY: &str = "UPDATE trust_stale_day SET due_at = now() WHERE (merchant_id, day) IN (
                         SELECT merchant_id, day FROM trust_stale_day
                         WHERE due_at > now() AND due_at < now() + interval '11 minutes' FOR UPDATE SKIP LOCKED)";

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let span = Duration::from_secs(trial.by_tier(8, 90));
    let mut rng = trial.rng(40);
    let mut shop = Shop::open().await?;
    let orders = shop.copy_into_the_past().await?;
    let actors = Actors::start(&shop.store, &orders, &mut rng).await?;
    let buyers = Buyers::start(&shop.desk(), &shop.agents, &mut rng);
    let hurry = Hurry::start(shop.store.url());
    let (since, mut kills) = (Instant::now(), Kills::default());
    // With fewer purchases there may be no price that was right.
    let has_enough = |purchases| purchases >= PURCHASES_MIN || since.elapsed() >= 8 * span;
    while since.elapsed() < span || kills.total() < 4 || !has_enough(buyers.purchases()) {
        trial.progress(|| format!("{} kills", kills.total()));
        tokio::time::sleep(Duration::from_millis(rng.random_range(300..1_200))).await;
        shop.kill(&mut rng, &mut kills).await?;
    }
    let purchases = buyers.stop().await?;
    actors.stop().await?;
    shop.until_settled().await?;
    let rows = shop.compare().await?;
    let events = shop.repeat_events(&mut rng).await?;
    shop.until_settled().await?;
    ensure(shop.rows().await? == rows, || String::from("repeated events changed rows"))?;
    shop.damage(&rows).await?;
    drop(hurry);
    Ok(format!(
        "{} purchases and acts on {ORDERS} orders in {:.0} s with {} kills of servers, {} of workers and {} of PostgreSQL: {} \
         rows equal a rebuild, byte by byte, and what SQL counts; {} repeated events change none; a wrong row is found and \
         mended",
        grouped(purchases),
        since.elapsed().as_secs_f64(),
        kills.servers,
        kills.workers,
        kills.engines,
        grouped(rows.len()),
        grouped(events),
    ))
}

/// How often each kind of process was killed.
#[derive(Debug, Default)]
struct Kills {
    servers: u32,
    workers: u32,
    engines: u32,
}

impl Kills {
    fn total(&self) -> u32 {
        self.servers + self.workers + self.engines
    }
}

/// A task that makes days due at once, until it is dropped.
struct Hurry(JoinHandle<()>);

impl Hurry {
    fn start(url: String) -> Self {
        Self(tokio::spawn(async move {
            loop {
                // PostgreSQL may be down.
                if let Ok(mut sql) = PgConnection::connect(&url).await {
                    let _ = sqlx::query(HURRY).execute(&mut sql).await;
                    let _ = sql.close().await;
                }
                tokio::time::sleep(Duration::from_millis(250)).await;
            }
        }))
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A store with two servers and two workers, on a PostgreSQL of its own.
struct Shop {
    workers: [Souk; 2],
    agents: Vec<Agent>,
    products: Vec<ProductId>,
    database: Database,
    store: OrderStore,
    // Last, because everything else uses it.
    engines: Engines,
}

impl Shop {
    async fn open() -> Result<Self, Failure> {
        let engines = tokio::task::spawn_blocking(Engines::start).await??;
        let store = OrderStore::open_in(TestDatabase::on(&engines.database_url).await).await?;
        let (url, mut sql) = (store.url(), store.test.raw().await);
        let database = store.test.another_process();
        database.refresh_directory().await?;
        let mut agents = vec![store.callers.agent.clone()];
        for email in ACCOUNTS {
            let account = Account::create(&url, email, "ENTERPRISE").await?;
            let token = account.log_in(store.ports[0]).await?;
            let scopes = ["agent:read", "agent:cart", "agent:checkout"];
            let (_, key) = agent_key_for(store.ports[0], &token, &scopes).await?;
            agents.push(Agent::at(SLUG, &key));
        }
        let products = sqlx::query_scalar("SELECT product_id FROM product ORDER BY product_id");
        let products = products.fetch_all(&mut sql).await?;
        let workers = [Souk::work(&url, 1)?, Souk::work(&url, 1)?];
        Ok(Self { workers, agents, products, database, store, engines })
    }

    fn merchant(&self) -> MerchantId {
        self.store.store.merchant
    }

    fn desk(&self) -> Arc<Desk> {
        let callers = &self.store.callers;
        Arc::new(Desk {
            ports: self.store.ports,
            store_key: callers.store_key.clone(),
            admin: callers.admin.clone(),
            products: self.products.clone(),
        })
    }

    /// Copies bought orders with their checkouts into the last ninety days, for all accounts. Some have a promised time, of which
    /// some pass within the next seconds. Then counts them.
    async fn copy_into_the_past(&self) -> Result<Vec<OrderId>, Failure> {
        let orders = self.store.copy(ORDERS, "pending").await?;
        let ids: Vec<Uuid> = orders.iter().map(|order| order.uuid()).collect();
        let mut sql = self.store.test.raw().await;
        sqlx::query(
            "UPDATE placed_order SET created_at = now() - (n % 90 + 1) * interval '1 day',
                 promised_by = CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN now() - (n % 80) * interval '1 day'
                                          WHEN 2 THEN now() + (n % 20) * interval '1 second'
                                          ELSE now() + interval '2 days' END,
                 agent_key_id = keys.ids[(n % 3 + 1)::int]
             FROM unnest($1::uuid[]) WITH ORDINALITY AS given (id, n),
                  (SELECT array_agg(key_id ORDER BY key_id) AS ids FROM platform.agent_key WHERE user_id IS NOT NULL) AS keys
             WHERE placed_order.order_id = given.id",
        )
        .bind(&ids)
        .execute(&mut sql)
        .await?;
        sqlx::query(
            "INSERT INTO agent_event (merchant_id, checkout_id, kind, agent_key_id, at)
             SELECT merchant_id, checkout_id, kind, agent_key_id, created_at - interval '1 minute'
             FROM placed_order, (VALUES ('CHECKOUT_START'), ('CHECKOUT_COMPLETE')) AS kinds (kind)
             WHERE order_id = ANY ($1)",
        )
        .bind(&ids)
        .execute(&mut sql)
        .await?;
        trust::rebuild(&self.database, self.merchant()).await?;
        Ok(orders)
    }

    /// Kills a process at random and starts it again. The first ones are one of each kind.
    async fn kill(&mut self, rng: &mut StdRng, kills: &mut Kills) -> Result<(), Failure> {
        let drawn = match kills.total() {
            0 => 1,
            1 => 0,
            2 => 7,
            _ => rng.random_range(0..8_u32),
        };
        let which = rng.random_range(0..2_usize);
        if (1..6).contains(&drawn) && self.is_a_job_near_quarantine().await {
            return Ok(());
        }
        match drawn {
            0 => {
                self.engines.kill_postgres().await?;
                kills.engines += 1;
            }
            1..6 => {
                self.workers[which].signal("KILL")?;
                self.workers[which] = Souk::work(&self.store.url(), 1)?;
                kills.workers += 1;
            }
            _ => {
                self.store.restart(which).await?;
                kills.servers += 1;
            }
        }
        Ok(())
    }

    /// Whether one more crash would quarantine a job for an hour: one that is killed again and again while it runs looks like one
    /// that crashes its worker.
    async fn is_a_job_near_quarantine(&self) -> bool {
        let near = "SELECT EXISTS (SELECT FROM job WHERE kind LIKE 'trust.%' AND crashes >= 3)";
        match PgConnection::connect(&self.store.url()).await {
            Ok(mut sql) => sqlx::query_scalar(near).fetch_one(&mut sql).await.unwrap_or(true),
            Err(_) => true,
        }
    }

    /// Waits until workers have read every event and computed every day that is due, and no promised time is about to pass.
    async fn until_settled(&self) -> Result<(), Failure> {
        let reading = Reading::for_platform(&self.database);
        let (mut sql, since, mut calm) = (self.store.test.raw().await, Instant::now(), 0);
        while calm < 3 {
            let cursor = jobs::cursor(&reading, CURSOR).await?;
            let unread = jobs::read_topics(&reading, &cursor, &TOPICS, 1).await?.events.len();
            let (stale, soon): (i64, i64) = sqlx::query_as(
                "SELECT (SELECT count(*) FROM trust_stale_day WHERE due_at < now() + interval '11 minutes'),
                        (SELECT count(*) FROM placed_order
                         WHERE promised_by > now() - interval '2 seconds' AND promised_by < now() + interval '15 seconds')",
            )
            .fetch_one(&mut sql)
            .await?;
            let is_calm = unread == 0 && stale == 0 && soon == 0;
            calm = if is_calm { calm + 1 } else { 0 };
            ensure(since.elapsed() < SETTLED_MAX, || {
                format!("not settled: {unread} events unread, {stale} days stale, {soon} promises")
            })?;
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        Ok(())
    }

    /// Returns all rows and tallies as PostgreSQL shows them.
    async fn rows(&self) -> Result<Vec<String>, Failure> {
        let rows = sqlx::query_scalar(
            "SELECT trust_agent_day::text FROM trust_agent_day
             UNION ALL SELECT trust_account_tally::text FROM trust_account_tally
             UNION ALL SELECT 'delivered ' || delivered FROM trust_tally ORDER BY 1",
        );
        Ok(rows.fetch_all(&mut self.store.test.raw().await).await?)
    }

    /// Compares the rows with the facts, with a rebuild, and with what SQL counts. Returns the rows.
    async fn compare(&self) -> Result<Vec<String>, Failure> {
        let (rows, merchant) = (self.rows().await?, self.merchant());
        let differences = trust::check_days(&self.database, merchant).await?;
        ensure(differences.is_empty() && differences.days > 60, || {
            format!("{} days: {differences:?}", differences.days)
        })?;
        output(&self.store.url(), &["trust", "rebuild", "--store", SLUG, "--check"]).await?;
        let rebuilt = trust::rebuild(&self.database, merchant).await?;
        ensure(rebuilt.changed == 0, || format!("the rebuild changed {} days", rebuilt.changed))?;
        ensure(self.rows().await? == rows, || String::from("the rebuild changed rows"))?;
        let (counted, stored): (Vec<i64>, Vec<i64>) =
            sqlx::query_as(BOOKS).fetch_one(&mut self.store.test.raw().await).await?;
        // Other prices are few, and disputes take the longest: in a short run there may be none.
        let has_all = counted.iter().take(9).all(|number| *number > 0);
        ensure(counted == stored && has_all, || {
            format!("of the facts {counted:?}, of the rows {stored:?}: {BOOK_NAMES}")
        })?;
        Ok(rows)
    }

    /// Publishes an event of every order and checkout again, twice and in random order. Returns their number.
    async fn repeat_events(&self, rng: &mut StdRng) -> Result<usize, Failure> {
        let mut sql = self.store.test.raw().await;
        let subjects: Vec<(bool, Uuid)> = sqlx::query_as(
            "SELECT true, order_id FROM placed_order UNION ALL SELECT DISTINCT false, checkout_id FROM agent_event",
        )
        .fetch_all(&mut sql)
        .await?;
        let merchant = self.merchant();
        let event = |(is_order, subject): &(bool, Uuid)| {
            let topic = if *is_order { TOPICS[0] } else { TOPICS[1] };
            NewEvent { merchant, topic, subject: *subject, payload: json!({}) }
        };
        let mut repeated = subjects.repeat(2);
        repeated.shuffle(rng);
        for part in repeated.chunks(EVENTS) {
            let mut work = Work::for_platform(&self.database).await?;
            let events: Vec<NewEvent> = part.iter().map(event).collect();
            jobs::publish(&mut work, &events).await?;
            work.commit().await?;
        }
        Ok(repeated.len())
    }

    /// Makes a row wrong: the comparison finds it, and a rebuild restores all rows.
    async fn damage(&self, rows: &[String]) -> Result<(), Failure> {
        sqlx::query(
            "UPDATE trust_agent_day SET started = started + 1
             WHERE (merchant_id, day, account_id) = (
                 SELECT merchant_id, day, account_id FROM trust_agent_day
                 WHERE day < CURRENT_DATE - 3 ORDER BY day, account_id LIMIT 1)",
        )
        .execute(&mut self.store.test.raw().await)
        .await?;
        let found = trust::check_days(&self.database, self.merchant()).await?;
        ensure(found.rows.len() == 1, || format!("of one wrong row was found: {found:?}"))?;
        let check = ["trust", "rebuild", "--store", SLUG, "--check"];
        let is_found = output(&self.store.url(), &check).await.is_err();
        ensure(is_found, || String::from("`souk trust rebuild --check` finds no wrong row"))?;
        let rebuilt = trust::rebuild(&self.database, self.merchant()).await?;
        ensure(rebuilt.changed == 1 && self.rows().await? == rows, || {
            format!("the rebuild changed {} days", rebuilt.changed)
        })
    }
}

const BOOK_NAMES: &str = "started, lasting, kept, orders, minor units, out of stock, late, delivered, prices equal, prices different, \
                          disputes lost";
/// Counts facts over all days, apart from the crate, and the same in the rows. What the merchant canceled for the buyer or as
/// fraud did not happen; what the agent or the buyer canceled as a whole did not if that was until six hours after its day, and
/// does not last if it was until ten days after it. A price that equals the quote counts only of what the merchant did not cancel.
const BOOKS: &str = "
    WITH purchase AS (
        SELECT order_id, checkout_id, total_minor, date_trunc('day', created_at, 'UTC') AS day,
               least(coalesce(promised_by, created_at + interval '720 hours'), created_at + interval '1440 hours') AS due_by,
               history.*,
               failed_at IS NULL AND excused_at IS NOT NULL AS is_void,
               CASE WHEN failed_at IS NULL AND excused_at IS NULL THEN canceled_at END AS withdrawn_at
        FROM placed_order
        CROSS JOIN LATERAL (
            SELECT min(occurred_at) FILTER (WHERE kind = 'lines_canceled' AND actor = 'merchant' AND reason IN
                       ('out_of_stock', 'price_error', 'undeliverable', 'other')) AS failed_at,
                   min(occurred_at) FILTER (WHERE kind = 'lines_canceled' AND actor = 'merchant' AND reason IN
                       ('buyer_request', 'fraud')) AS excused_at,
                   min(occurred_at) FILTER (WHERE kind = 'lines_canceled' AND actor = 'merchant'
                                              AND reason = 'out_of_stock') AS short_at,
                   min(occurred_at) FILTER (WHERE kind = 'lines_canceled' AND actor = 'merchant'
                                              AND reason = 'price_error') AS repriced_at,
                   min(occurred_at) FILTER (WHERE kind = 'status_changed' AND status = 'canceled'
                                              AND actor IN ('agent', 'buyer')) AS canceled_at,
                   min(occurred_at) FILTER (WHERE kind = 'status_changed' AND status = 'delivered') AS delivered_at,
                   min(occurred_at) FILTER (WHERE kind = 'status_changed' AND status IN ('delivered', 'canceled')) AS ended_at
            FROM order_history WHERE order_history.order_id = placed_order.order_id) AS history
        WHERE status <> 'failed'
    ), checkout AS (
        SELECT day, purchase.order_id, is_void, withdrawn_at, failed_at, excused_at,
               EXISTS (SELECT FROM agent_event AS completed
                       WHERE completed.checkout_id = started.checkout_id AND completed.kind = 'CHECKOUT_COMPLETE'
                         AND completed.at < started.day + interval '30 hours') AND order_id IS NOT NULL AS is_completed
        FROM (SELECT checkout_id, date_trunc('day', at, 'UTC') AS day,
                     row_number() OVER (PARTITION BY user_id, date_trunc('day', at, 'UTC') ORDER BY at, checkout_id) AS number
              FROM agent_event JOIN platform.agent_key ON key_id = agent_key_id
              WHERE kind = 'CHECKOUT_START') AS started
        LEFT JOIN (SELECT order_id, checkout_id, is_void, withdrawn_at, failed_at, excused_at FROM purchase) AS purchase
            USING (checkout_id)
        WHERE number <= 500 AND is_void IS NOT TRUE AND (withdrawn_at < day + interval '30 hours') IS NOT TRUE
    ), price AS (
        SELECT checkout_id, bool_or(is_different) AS is_different, date_trunc('day', min(at), 'UTC') AS day
        FROM (SELECT checkout_id, at, outcome = 'amount_mismatch' OR (NOT is_open AND reported_minor <> expected_minor) IS TRUE
                     OR jsonb_path_exists(parts, '$[*] ? (@.expected_minor != null && @.expected_minor != @.reported_minor)')
                        IS TRUE
              FROM payment_report
              WHERE outcome = 'amount_mismatch' OR (NOT is_open AND reported_minor IS NOT NULL)
                 OR jsonb_path_exists(parts, '$[*] ? (@.expected_minor != null)')
              UNION ALL
              SELECT checkout_id, repriced_at, true FROM purchase WHERE repriced_at IS NOT NULL)
              AS stated (checkout_id, at, is_different)
        GROUP BY checkout_id
    )
    SELECT ARRAY[
        (SELECT count(*) FROM checkout),
        (SELECT count(*) FROM checkout WHERE is_completed AND (withdrawn_at < day + interval '264 hours') IS NOT TRUE),
        (SELECT count(*) FROM checkout WHERE is_completed AND failed_at IS NULL AND excused_at IS NULL),
        (SELECT count(*) FROM purchase
         WHERE NOT is_void AND (withdrawn_at < day + interval '30 hours') IS NOT TRUE),
        (SELECT sum(total_minor)::bigint FROM purchase),
        (SELECT count(short_at) FROM purchase),
        (SELECT count(*) FROM purchase
         WHERE failed_at <= due_by
            OR (due_by <= now() AND (ended_at <= due_by) IS NOT TRUE AND (failed_at <= due_by) IS NOT TRUE)),
        (SELECT count(delivered_at) FROM purchase),
        (SELECT count(*) FROM price LEFT JOIN purchase USING (checkout_id)
         WHERE NOT is_different AND failed_at IS NULL AND excused_at IS NULL
           AND (withdrawn_at < price.day + interval '30 hours') IS NOT TRUE),
        (SELECT count(*) FROM price WHERE is_different),
        (SELECT count(*) FROM order_dispute WHERE resolution = 'buyer')
    ], ARRAY[sum(started), sum(lasting), sum(kept), sum(orders), sum(amount_minor)::bigint, sum(out_of_stock), sum(late),
             sum(delivered), sum(price_equal), sum(price_different), sum(disputes_lost)]
    FROM trust_agent_day";
