//! (e) F25: sessions nobody pays, and workers that are killed while they notice: all units go back, and the merchant hears of
//! each once.

use std::time::{Duration, Instant};

use checkout::NoticeAbandoned;
use database::Work;
use jobs::Scheduled;
use rand::RngExt;

use super::checker;
use super::shop::Shop;
use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

/// How long it may take until all are noticed.
const PATIENCE: Duration = Duration::from_mins(3);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let many = trial.by_tier(100, 1_000);
    let shop = Shop::open(&[many, 5]).await?;
    let server = Souk::serve(&shop.url(), &[]).await?;
    let agent = shop.agent(&server, "ada").await?;
    let mut client = agent.client(server.port);
    for _ in 0..many {
        let cart = agent.cart(&mut client, &[(shop.products[0], 1)]).await?;
        agent.complete(&mut client, &cart, None).await.done()?;
    }
    let before = checker::check(&shop).await?;
    ensure(before.holding == i64::from(many), || format!("{} are held", before.holding))?;
    // Half an hour later, as far as the sessions know.
    let late = "UPDATE checkout_session SET expires_at = started_at - interval '1 second'";
    sqlx::query(late).execute(&mut shop.test.raw().await).await?;
    let kills = notice(&shop, &trial).await?;
    let books = checker::check(&shop).await?;
    let all = i64::from(many);
    ensure(books.holding == 0 && books.abandoned == all, || format!("{books:?}"))?;
    Ok(format!(
        "{many} sessions nobody paid, {kills} workers killed meanwhile: all units back, {all} events, none twice"
    ))
}

/// Workers notice and are killed, again and again, until none is left.
async fn notice(shop: &Shop, trial: &Trial) -> Result<u32, Failure> {
    let database = shop.test.database().clone();
    let (since, mut kills, mut random) = (Instant::now(), 0, trial.dice(1));
    while since.elapsed() < PATIENCE {
        let mut work = Work::for_platform(&database).await?;
        jobs::enqueue(&mut work, &NoticeAbandoned::for_epoch(0)).await?;
        work.commit().await?;
        let worker = Souk::work(&shop.url(), 1)?;
        tokio::time::sleep(Duration::from_millis(random.random_range(600..1_800))).await;
        worker.signal("KILL")?;
        drop(worker);
        let open = "SELECT count(*) FROM checkout_session WHERE status <> 'expired'";
        let open: i64 = sqlx::query_scalar(open).fetch_one(&mut shop.test.raw().await).await?;
        if open == 0 {
            return Ok(kills);
        }
        kills += 1;
    }
    Err("they were not all noticed in time".into())
}
