//! `unreadable-rows`: sessions that cannot be read or ended, of five kinds, among healthy ones of many merchants. The job
//! that expires sessions releases every healthy hold within two runs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use carts::{CartOwner, Item, NewCart, Quantity};
use checkout::{CheckoutCaller, CheckoutContext, Complete, ExpireSessions, PaymentGateway};
use database::Work;
use futures::StreamExt;
use payments::TestProvider;
use primitives::{Id, KeyId, MerchantId};
use testkit::{StoreBuilder, TestDatabase};

use crate::report::{Failure, Trial, Verdict, ensure};
use crate::souk::Souk;

/// How a session is damaged. `$1` is its merchant.
const DAMAGES: [&str; 5] = [
    "DELETE FROM cart WHERE merchant_id = $1",
    "UPDATE checkout_session SET terms = '{}' WHERE merchant_id = $1",
    "UPDATE checkout_session SET lines = '[{}]' WHERE merchant_id = $1",
    "UPDATE checkout_session SET currency = '?' WHERE merchant_id = $1",
    "UPDATE store_setting SET shipping = '[{}]' WHERE merchant_id = $1",
];
/// Stores that are created concurrently.
const CONCURRENCY: usize = 16;
const TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let (merchants, damaged) = trial.by_tier((30_u32, 10_u32), (1_000, 100));
    let test = TestDatabase::new().await;
    let created = futures::stream::iter(1..=merchants)
        .map(|number| complete_one(&test, number))
        .buffer_unordered(CONCURRENCY);
    let created: Vec<Result<(), Failure>> = created.collect().await;
    created.into_iter().collect::<Result<Vec<()>, Failure>>()?;
    let mut raw = test.raw().await;
    // The damaged sessions expire first.
    sqlx::query("UPDATE checkout_session SET expires_at = now() - interval '1 hour'")
        .execute(&mut raw)
        .await?;
    for number in 1..=damaged {
        let id = merchant(number);
        let damage = DAMAGES[usize::try_from(number)? % DAMAGES.len()];
        sqlx::query(damage).bind(id).execute(&mut raw).await?;
        sqlx::query("UPDATE checkout_session SET expires_at = expires_at - interval '1 hour' WHERE merchant_id = $1")
            .bind(id)
            .execute(&mut raw)
            .await?;
    }
    let healthy: Vec<MerchantId> = (damaged + 1..=merchants).map(merchant).collect();
    let _worker = Souk::work(&test.url(), 10)?;
    let since = Instant::now();
    for run in 1..=2 {
        let mut work = Work::for_platform(test.database()).await?;
        jobs::enqueue_sweep::<ExpireSessions>(&mut work).await?;
        work.commit().await?;
        let waiting = "SELECT count(*) FROM job WHERE kind = 'checkout.notice_abandoned'";
        loop {
            let jobs: i64 = sqlx::query_scalar(waiting).fetch_one(&mut raw).await?;
            if jobs == 0 {
                break;
            }
            ensure(since.elapsed() < TIMEOUT, || format!("run {run} did not end"))?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    let held = "SELECT count(*) FROM product WHERE held > 0 AND merchant_id = ANY($1)";
    let held: i64 = sqlx::query_scalar(held).bind(&healthy).fetch_one(&mut raw).await?;
    ensure(held == 0, || format!("{held} healthy holds were not released within two runs"))?;
    let failed: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sweep_failure").fetch_one(&mut raw).await?;
    ensure(failed > 0 && failed <= i64::from(damaged), || format!("{failed} failures recorded"))?;
    Ok(format!(
        "{merchants} merchants, {damaged} damaged sessions of {} kinds: all {} healthy holds released in {:.1?}, {failed} \
         failures recorded for a later attempt",
        DAMAGES.len(),
        healthy.len(),
        since.elapsed(),
    ))
}

fn merchant(number: u32) -> MerchantId {
    MerchantId::from_random(u128::from(number))
}

/// Creates a store and completes one checkout there.
async fn complete_one(test: &TestDatabase, number: u32) -> Result<(), Failure> {
    let database = test.database();
    let fixture = StoreBuilder::new(&format!("store-{number}"))
        .merchant(merchant(number))
        .shipping("DE", 490)
        .score(0.9)
        .build(database)
        .await;
    let products =
        fixture.put_products(database, &[testkit::product_draft("mug", "1.00", 5)]).await;
    let store = fixture.load(database).await;
    let name = format!("agent {number}");
    let owner = CartOwner { key: KeyId::from_random(u128::from(number)), name, is_sandbox: false };
    let item = Item { product: products[0], variant: None, quantity: Quantity::ONE };
    let new = NewCart { items: vec![item], ..NewCart::default() };
    let cart = carts::create(database, &store, &owner, new, None).await?;
    let gateway = PaymentGateway::new(Arc::new(TestProvider), true);
    let context = CheckoutContext {
        database,
        store: &store,
        site_url: "http://127.0.0.1",
        gateway: &gateway,
        caller: CheckoutCaller::default(),
    };
    checkout::complete(&context, &owner, &Complete::cart(cart.cart.id), None).await?;
    Ok(())
}
