//! `expired-sessions`: unpaid sessions expire while the workers that process them are killed: all
//! units are released, and the merchant gets one event for each.

use std::time::{Duration, Instant};

use checkout::ExpireSessions;
use database::Work;
use rand::RngExt;

use super::invariants;
use super::store::TestStore;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

/// Maximum time until all sessions are expired.
const TIMEOUT: Duration = Duration::from_mins(3);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let many = trial.by_tier(100, 1_000);
    let store = TestStore::create(&[many, 5]).await?;
    let server = Souk::serve(&store.url(), &[]).await?;
    let agent = store.agent(&server, "ada").await?;
    let mut client = agent.client(server.port);
    for _ in 0..many {
        let cart = agent.cart(&mut client, &[(store.products[0], 1)]).await?;
        agent.complete(&mut client, &cart, None).await.success()?;
    }
    let before = invariants::check(&store).await?;
    ensure(before.holding == i64::from(many), || {
        format!("{} sessions hold units", before.holding)
    })?;
    // Sessions expire half an hour after their start; this sets the end into the past.
    let late = "UPDATE checkout_session SET expires_at = started_at - interval '1 second'";
    sqlx::query(late).execute(&mut store.test.raw().await).await?;
    let kills = expire(&store, &trial).await?;
    let totals = invariants::check(&store).await?;
    let all = i64::from(many);
    ensure(totals.holding == 0 && totals.abandoned == all, || format!("{totals:?}"))?;
    Ok(format!(
        "{many} unpaid sessions, {kills} workers killed: all units released, {all} events, no duplicates"
    ))
}

/// Starts workers and kills them until all sessions are expired. Returns the number of kills.
async fn expire(store: &TestStore, trial: &Trial) -> Result<u32, Failure> {
    let database = store.test.database().clone();
    let (since, mut kills, mut random) = (Instant::now(), 0, trial.rng(1));
    while since.elapsed() < TIMEOUT {
        let mut work = Work::for_platform(&database).await?;
        jobs::enqueue_sweep::<ExpireSessions>(&mut work).await?;
        work.commit().await?;
        let worker = Souk::work(&store.url(), 1)?;
        tokio::time::sleep(Duration::from_millis(random.random_range(600..1_800))).await;
        worker.signal("KILL")?;
        drop(worker);
        let open = "SELECT count(*) FROM checkout_session WHERE status <> 'expired'";
        let open: i64 = sqlx::query_scalar(open).fetch_one(&mut store.test.raw().await).await?;
        if open == 0 {
            return Ok(kills);
        }
        kills += 1;
    }
    Err(format!("sessions are still open after {TIMEOUT:?}").into())
}
