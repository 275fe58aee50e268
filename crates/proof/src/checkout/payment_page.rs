//! `payment-page`: a person pays on the hosted page and the process crashes: before the payment is
//! started, during the request to the provider, or before its result is stored. After a second
//! submission or after reconciliation there is one payment and one order.

use std::time::{Duration, Instant};

use super::crash_points::CrashingServer;
use super::invariants;
use super::store::{Agent, SLUG, TestStore};
use crate::http::{Client, Delivery};
use crate::report::{Failure, Tier, Trial, Verdict, ensure};
use crate::souk::Souk;

/// Crash points, and whether the payment has to be reconciled with the provider.
const CRASH_POINTS: [(&str, bool); 7] = [
    ("pay.before_commit", false),
    ("pay.committed", false),
    ("pay.started", true),
    ("pay.charged", true),
    ("pay.order_placed", true),
    ("pay.units_sold", true),
    ("pay.settled", true),
];
/// A job reconciles payments older than 30 seconds, once a minute.
const RECONCILED_MAX: Duration = Duration::from_mins(2);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let store = TestStore::create(&[100]).await?;
    let settings = vec![("SOUK_TEST_PAYMENTS", String::from("on"))];
    let mut server = CrashingServer::start(store, settings).await?;
    let agent = server.agent().await?;
    let mut pending = Vec::new();
    for (point, is_pending) in CRASH_POINTS {
        if is_pending && trial.tier == Tier::Fast {
            continue;
        }
        trial.progress(|| format!("crash at {point}"));
        let path = server.crash_while_paying(&agent, point).await?;
        if is_pending {
            pending.push(path);
        } else {
            pay_again(server.port, &path).await?;
            expect_text(server.port, &path, "Paid.").await?;
        }
    }
    let waited = server.wait_for_reconciliation(&trial, &pending).await?;
    let totals = invariants::check(&server.store).await?;
    let paid = "SELECT count(*) FROM payment WHERE status = 'paid'";
    let paid: i64 = sqlx::query_scalar(paid).fetch_one(&mut server.store.test.raw().await).await?;
    ensure(totals.orders == i64::from(server.crashes) && paid == totals.orders, || {
        format!("{} crashes, {paid} payments, {totals:?}", server.crashes)
    })?;
    let resolved = if pending.is_empty() {
        String::from("submitted again")
    } else {
        format!(
            "{} submitted again, {} reconciled by a job within {waited:.0?}",
            CRASH_POINTS.len() - pending.len(),
            pending.len()
        )
    };
    Ok(format!(
        "{} crashes during a payment, {resolved}: {paid} payments, {} orders",
        server.crashes, totals.orders
    ))
}

impl CrashingServer {
    /// Submits a payment during which the process crashes. Returns the path of the page.
    async fn crash_while_paying(&mut self, agent: &Agent, point: &str) -> Result<String, Failure> {
        self.restart(Some(point)).await?;
        let mut client = agent.client(self.port);
        let cart = agent.cart(&mut client, &[(self.store.products[0], 1)]).await?;
        let session = agent.complete(&mut client, &cart, None).await.success()?;
        let checkout = session["checkout_id"].as_str().ok_or("a session without an id")?;
        let path = format!("/{SLUG}/checkout/{checkout}");
        let delivery = submit(self.port, &path).await?;
        ensure(matches!(delivery, Delivery::Interrupted(_)), || {
            format!("at {point} the page answered {delivery:?}")
        })?;
        self.expect_crash(point).await?;
        self.restart(None).await?;
        Ok(path)
    }

    /// Waits until a job has reconciled the pending payments. Returns how long that took.
    async fn wait_for_reconciliation(
        &self,
        trial: &Trial,
        pending: &[String],
    ) -> Result<Duration, Failure> {
        let since = Instant::now();
        if pending.is_empty() {
            return Ok(since.elapsed());
        }
        for path in pending {
            expect_text(self.port, path, "in progress").await?;
        }
        let _worker = Souk::work(&self.store.url(), 1)?;
        for path in pending {
            while expect_text(self.port, path, "Paid.").await.is_err() {
                ensure(since.elapsed() < RECONCILED_MAX, || {
                    format!("{path} is still in progress")
                })?;
                trial.progress(|| format!("waiting for a job, {:.0?}", since.elapsed()));
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
        Ok(since.elapsed())
    }
}

async fn page(port: u16, path: &str) -> Result<String, Failure> {
    match Client::new(port).get(path).await {
        Delivery::Answered { status: 200, body } => Ok(body),
        other => Err(format!("GET {path}: {other:?}").into()),
    }
}

/// Fails unless the page contains the text.
async fn expect_text(port: u16, path: &str, text: &str) -> Result<(), Failure> {
    let page = page(port, path).await?;
    ensure(page.contains(text), || format!("the page does not contain {text:?}: {page}"))
}

/// Loads the page and submits its payment form.
async fn submit(port: u16, path: &str) -> Result<Delivery, Failure> {
    let page = page(port, path).await?;
    let field = |name: &str| {
        let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1);
        field.and_then(|field| field.split('"').next()).ok_or("a page without a form")
    };
    let (token, hash) = (field("form_token")?, field("quote_hash")?);
    let form = format!("instrument=test_approves&form_token={token}&quote_hash={hash}");
    Ok(Client::new(port).sending_forms().post(&format!("{path}/pay"), &form).await)
}

/// Submits the form again unless the page already shows the payment.
async fn pay_again(port: u16, path: &str) -> Result<(), Failure> {
    if expect_text(port, path, "Paid.").await.is_ok() {
        return Ok(());
    }
    let delivery = submit(port, path).await?;
    ensure(matches!(delivery, Delivery::Answered { status: 303, .. }), || {
        format!("the second submission of {path}: {delivery:?}")
    })
}
