//! `uploading-neighbour`: a merchant uploads feeds as fast as its quotas allow, and a worker imports them, while agents buy at
//! another store and holds there expire. Checkouts and the release of expired holds take as long as without the uploads.
//!
//! A trigger makes each row of an import take 2 ms without using a processor, as in a very large catalog: all processes of the
//! check share this machine, and only what they share in production is measured: connections, locks, jobs and the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use primitives::{Id, MerchantId, ProductId};
use testkit::StoreBuilder;
use tokio::task::JoinSet;

use super::expiry::release_expired;
use super::neighbours::{Rounds, p99};
use crate::checkout::store::{Agent, SLUG, TestStore, merchant};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Tier, Trial, Verdict, ensure, grouped};
use crate::souk::{Souk, store_key};

const UPLOADER: &str = "uploader";
const IMPORTS: &str = "/api/v1/merchant/imports?format=ndjson&mode=merge";
/// Uploads at the same time that a store may make.
const UPLOADS: usize = 2;
/// Rows of a feed.
const ROWS: usize = 2_000;
/// Agents that buy.
const AGENTS: usize = 3;
/// Holds that expire at the same time.
const HOLDS: i64 = 5;
/// Rounds; in the short form one is enough if it meets the limit.
const ROUNDS: usize = 3;
const TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let case = Arc::new(Case::start().await?);
    let during = trial.by_tier(Duration::from_secs(2), Duration::from_secs(12));
    // Connections and caches are filled first.
    case.measure(Duration::from_millis(500)).await?;
    let (mut checkouts, mut expiries) = (Rounds::default(), Rounds::default());
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..ROUNDS {
        let without = case.measure(during).await?;
        let uploads = Uploads::start(&case).await?;
        let beside = case.measure(during).await?;
        checkouts.add(without.0, beside.0);
        expiries.add(without.1, beside.1);
        let sent = uploads.stop().await?;
        (accepted, refused) = (accepted + sent.0, refused + sent.1);
        case.drain().await?;
        if trial.tier == Tier::Fast && checkouts.is_met() && expiries.is_met() {
            break;
        }
    }
    ensure(accepted > 0 && refused > 0, || {
        format!("{accepted} feeds accepted, {refused} refused: the quota was not used up")
    })?;
    checkouts.judge(&trial, "the p99 latency of checkouts")?;
    expiries.judge(&trial, "the release of expired holds")?;
    Ok(format!(
        "{accepted} feeds of {} rows accepted and {} uploads refused by the quota meanwhile: p99 of checkouts at another store \
         {checkouts}; expired holds released after {expiries}",
        grouped(ROWS),
        grouped(refused),
    ))
}

/// A store where agents buy, one that uploads, a server and a worker.
struct Case {
    server: Souk,
    _worker: Souk,
    agents: Vec<Agent>,
    product: ProductId,
    uploader_key: String,
    store: TestStore,
}

impl Case {
    async fn start() -> Result<Self, Failure> {
        let store = TestStore::create(&[1_000_000]).await?;
        let uploader = StoreBuilder::new(UPLOADER).merchant(MerchantId::from_random(2));
        let uploader = uploader.build(store.test.database()).await;
        slow_down(&store, uploader.merchant).await?;
        let server = Souk::serve(&store.url(), &[]).await?;
        let worker = Souk::work(&store.url(), 30)?;
        let mut agents = Vec::new();
        for number in 0..AGENTS {
            agents.push(store.agent(&server, &format!("agent-{number}")).await?);
        }
        let uploader_key = store_key(&store.url(), UPLOADER).await?;
        let product = store.products[0];
        Ok(Self { server, _worker: worker, agents, product, uploader_key, store })
    }

    /// Returns the p99 latency of checkouts, and the median time in which expired holds are released.
    async fn measure(self: &Arc<Self>, during: Duration) -> Result<(Duration, Duration), Failure> {
        let mut buyers = JoinSet::new();
        for agent in self.agents.clone() {
            buyers.spawn(buy(agent, self.server.port, self.product, during));
        }
        let until = Instant::now() + during;
        // The first holds.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut expiries = Vec::new();
        while Instant::now() < until {
            expiries.push(self.expire_holds().await?);
        }
        let mut times = Vec::new();
        while let Some(bought) = buyers.join_next().await {
            times.extend(bought??);
        }
        expiries.sort_unstable();
        let median = expiries.get(expiries.len() / 2).copied().ok_or("no hold has expired")?;
        Ok((p99(times)?, median))
    }

    /// Lets some holds expire and returns how long it takes until they are released.
    async fn expire_holds(&self) -> Result<Duration, Failure> {
        let mut raw = self.store.test.raw().await;
        let expire = "UPDATE checkout_session SET expires_at = now() - interval '1 second' WHERE checkout_id IN
            (SELECT checkout_id FROM checkout_session WHERE is_holding ORDER BY started_at LIMIT $1)";
        sqlx::query(expire).bind(HOLDS).execute(&mut raw).await?;
        release_expired(&self.store.test, merchant()).await
    }

    /// Ends all imports, and waits until none is running.
    async fn drain(&self) -> Result<(), Failure> {
        let (mut raw, since) = (self.store.test.raw().await, Instant::now());
        let end = "UPDATE catalog_run SET state = 'failed', finished_at = now() WHERE finished_at IS NULL";
        sqlx::query(end).execute(&mut raw).await?;
        // One that is running finds that it has ended, and would be tried again.
        let left = "WITH waiting AS (DELETE FROM job WHERE kind = 'catalog.apply_run' AND lane = 0)
                    SELECT count(*) FROM job WHERE kind = 'catalog.apply_run'";
        while sqlx::query_scalar::<_, i64>(left).fetch_one(&mut raw).await? > 0 {
            ensure(since.elapsed() < TIMEOUT, || String::from("the imports do not end"))?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

/// Makes every row that a merchant imports take 2 ms.
async fn slow_down(store: &TestStore, merchant: MerchantId) -> Result<(), Failure> {
    let statements = format!(
        "CREATE FUNCTION slow_row() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM pg_sleep(0.002); RETURN NEW; END $$;
         CREATE TRIGGER slow_row BEFORE INSERT OR UPDATE ON product FOR EACH ROW
             WHEN (NEW.merchant_id = '{}') EXECUTE FUNCTION slow_row()",
        merchant.uuid()
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements)).execute(&mut store.test.raw().await).await?;
    Ok(())
}

/// Buys until the time is over and returns the latencies of the checkouts.
async fn buy(
    agent: Agent,
    port: u16,
    product: ProductId,
    during: Duration,
) -> Result<Vec<Duration>, Failure> {
    let (mut client, mut times) = (agent.client(port), Vec::new());
    let until = Instant::now() + during;
    while Instant::now() < until {
        let cart = agent.cart(&mut client, &[(product, 1)]).await?;
        let since = Instant::now();
        agent.complete(&mut client, &cart, None).await.success()?;
        times.push(since.elapsed());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(times)
}

/// The uploads of the other store.
struct Uploads {
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
    clients: JoinSet<Result<(), String>>,
}

impl Uploads {
    /// Starts to upload, and waits until a feed is being imported.
    async fn start(case: &Arc<Case>) -> Result<Self, Failure> {
        let (stop, accepted, refused) = (Arc::default(), Arc::default(), Arc::default());
        let mut uploads = Self { stop, accepted, refused, clients: JoinSet::new() };
        for number in 0..UPLOADS {
            let client = Client::new(case.server.port).with_key(&case.uploader_key);
            let (stop, accepted, refused) = (
                Arc::clone(&uploads.stop),
                Arc::clone(&uploads.accepted),
                Arc::clone(&uploads.refused),
            );
            uploads.clients.spawn(upload(client, number, stop, accepted, refused));
        }
        let (mut raw, since) = (case.store.test.raw().await, Instant::now());
        let at_work = "SELECT count(*) FROM catalog_run WHERE state = 'applying' AND rows_done > 0";
        while sqlx::query_scalar::<_, i64>(at_work).fetch_one(&mut raw).await? == 0 {
            ensure(since.elapsed() < TIMEOUT, || String::from("no feed is being imported"))?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(uploads)
    }

    /// Stops and returns how many feeds were accepted, and how many refused.
    async fn stop(mut self) -> Result<(usize, usize), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended??;
        }
        Ok((self.accepted.load(Ordering::Relaxed), self.refused.load(Ordering::Relaxed)))
    }
}

/// Uploads one feed after another, each with other prices.
async fn upload(
    mut client: Client,
    number: usize,
    stop: Arc<AtomicBool>,
    accepted: Arc<AtomicUsize>,
    refused: Arc<AtomicUsize>,
) -> Result<(), String> {
    let feed = |price: usize| -> String {
        let row = |row: usize| {
            format!(
                "{{\"external_id\":\"item-{row}\",\"name\":\"Item {row} of {SLUG}\",\"price\":\"{price}.00\",\
                 \"description\":\"An item of a long list, which changes its price with every feed.\"}}\n"
            )
        };
        (0..ROWS).map(row).collect()
    };
    let mut price = number;
    let mut next = feed(price);
    while !stop.load(Ordering::Relaxed) {
        match client.send("POST", IMPORTS, next.as_bytes()).await {
            Delivery::Answered { status: 202, .. } => {
                price += UPLOADS;
                next = feed(price);
                accepted.fetch_add(1, Ordering::Relaxed)
            }
            Delivery::Answered { status: 429, .. } => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                refused.fetch_add(1, Ordering::Relaxed)
            }
            // An upload that is refused before its end: the connection may be closed while it is being sent.
            Delivery::Interrupted(_) => refused.fetch_add(1, Ordering::Relaxed),
            other => return Err(format!("an upload: {other:?}")),
        };
    }
    Ok(())
}
