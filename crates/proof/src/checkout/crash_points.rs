//! `crash-points`: the process crashes at each point of the completion and of the payment transaction,
//! and the caller retries (docs/contract/errors.md#retry-rules). The result is one session, one URL and one hold;
//! after the payment one order.

use std::time::Duration;

use super::invariants;
use super::store::{Agent, Reply, TestStore, report_paid};
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::{Souk, stable_port};

/// Crash points of a completion.
const COMPLETING: [&str; 10] = [
    "complete.before",
    "complete.claimed",
    "complete.cart_held",
    "complete.revalidated",
    "complete.cart_started",
    "complete.session_written",
    "complete.recorded",
    "complete.response_recorded",
    "complete.units_held",
    "complete.committed",
];
/// Crash points of a payment reported by the merchant.
const PAYING: [&str; 4] =
    ["pay.order_placed", "pay.units_sold", "report.before_commit", "report.committed"];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let store = TestStore::create(&[1_000]).await?;
    let mut server = CrashingServer::start(store, Vec::new()).await?;
    let agent = server.agent().await?;
    let merchant_key = server.store.merchant_key().await?;
    for point in COMPLETING.into_iter().step_by(trial.by_tier(4, 1)) {
        server.complete(&agent, point).await?;
    }
    for point in PAYING.into_iter().step_by(trial.by_tier(3, 1)) {
        server.pay(&agent, &merchant_key, point).await?;
    }
    let totals = invariants::check(&server.store).await?;
    Ok(format!(
        "{} crash points, each retried: {} sessions, {} holds, {} orders, no duplicates",
        server.crashes, totals.sessions, totals.holding, totals.orders
    ))
}

/// A store and the one process that serves it, which crashes and is started again.
pub(super) struct CrashingServer {
    pub(super) store: TestStore,
    pub(super) port: u16,
    pub(super) crashes: u32,
    settings: Vec<(&'static str, String)>,
    process: Option<Souk>,
}

impl CrashingServer {
    pub(super) async fn start(
        store: TestStore,
        settings: Vec<(&'static str, String)>,
    ) -> Result<Self, Failure> {
        let mut server = Self { store, port: stable_port()?, crashes: 0, settings, process: None };
        server.restart(None).await?;
        Ok(server)
    }

    pub(super) async fn agent(&self) -> Result<Agent, Failure> {
        self.store.agent(self.process.as_ref().ok_or("no server")?, "ada").await
    }

    /// Replaces the process; the new one crashes at `point` if given.
    pub(super) async fn restart(&mut self, point: Option<&str>) -> Result<(), Failure> {
        drop(self.process.take());
        let mut settings = self.settings.clone();
        settings.extend(point.map(|point| ("SOUK_CRASH_AT", point.to_owned())));
        let process = Souk::serve_on(&self.store.url(), self.port, &settings)?;
        self.process = Some(process.ready().await?);
        Ok(())
    }

    /// Waits for the process to exit and fails unless it crashed.
    pub(super) async fn expect_crash(&mut self, point: &str) -> Result<(), Failure> {
        let process = self.process.as_mut().ok_or("no server")?;
        let code = process.wait(Duration::from_secs(10)).await?;
        ensure(code != Some(0), || format!("at {point} the process exited normally"))?;
        self.crashes += 1;
        Ok(())
    }

    async fn complete(&mut self, agent: &Agent, point: &str) -> Result<(), Failure> {
        self.restart(Some(point)).await?;
        let mut client = agent.client(self.port);
        let cart = agent.cart(&mut client, &[(self.store.products[0], 2)]).await?;
        let reply = agent.complete(&mut client, &cart, Some(point)).await;
        ensure(matches!(reply, Reply::Unknown(_)), || format!("at {point} it replied {reply:?}"))?;
        self.expect_crash(point).await?;
        self.restart(None).await?;
        let first = agent.complete_with_retries(self.port, &cart, Some(point)).await.success()?;
        let second = agent.complete_with_retries(self.port, &cart, Some(point)).await.success()?;
        let mut without = agent.client(self.port);
        let third = agent.complete(&mut without, &cart, None).await.success()?;
        for other in [&second, &third] {
            let same = |field: &str| first[field] == other[field] && first[field].is_string();
            ensure(same("checkout_id") && same("checkout_url"), || {
                format!("after {point} the replies differ: {first} and {other}")
            })?;
        }
        Ok(())
    }

    async fn pay(&mut self, agent: &Agent, key: &str, point: &str) -> Result<(), Failure> {
        self.restart(Some(point)).await?;
        let mut client = agent.client(self.port);
        let cart = agent.cart(&mut client, &[(self.store.products[0], 1)]).await?;
        let session = agent.complete(&mut client, &cart, None).await.success()?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?.to_owned();
        let reply = report_paid(self.port, key, &checkout, point).await;
        ensure(matches!(reply, Reply::Unknown(_)), || format!("at {point} it replied {reply:?}"))?;
        self.expect_crash(point).await?;
        self.restart(None).await?;
        let mut orders = Vec::new();
        for _ in 0..3 {
            let paid = report_paid(self.port, key, &checkout, point).await.success()?;
            orders.push(paid["order"]["order_id"].as_str().unwrap_or_default().to_owned());
        }
        orders.dedup();
        ensure(orders.len() == 1 && orders[0].starts_with("ord_"), || {
            format!("orders after {point}: {orders:?}")
        })
    }
}
