//! `snapshot`: the policies the buyer agreed to decide about returns, whatever the store states later. And the last second of a
//! return window counts by the database's clock, at servers whose clock is an hour ahead and an hour behind.
//!
//! Around the end of the window eligibility is asked for without a pause. PostgreSQL tells the time before and after each call:
//! a call that ended before the end must be told that the item can be returned, one that began after it that it cannot. A
//! server that uses its own clock is wrong for all of them.

use std::time::Duration;

use primitives::{Id, OrderId, ProductId};
use serde_json::json;
use sqlx::PgConnection;

use super::acts::{Answer, Hand, Named, Request};
use super::clock::{WrongClock, time_of_day};
use super::model::{Act, Who};
use super::refunds::done;
use super::store::{OrderStore, SLUG, model_of, settings};
use crate::hardening::shop::tool;
use crate::report::{Failure, Trial, Verdict, ensure};

/// Stores are cached for two seconds.
const SETTINGS_DELAY: Duration = Duration::from_secs(3);
const HOUR: i64 = 3_600;

pub(crate) async fn prove(_: Trial) -> Verdict {
    let mut store = OrderStore::open().await?;
    let judged = policies(&store).await?;
    let clock = WrongClock::build()?;
    for (server, seconds) in [HOUR, -HOUR].into_iter().enumerate() {
        store.restart_with(server, &clock.ahead_by(seconds)).await?;
    }
    check_clocks(&store).await?;
    let (open, closed) = last_second(&store).await?;
    Ok(format!(
        "{judged} orders judged by the policy of their purchase after three changes of it; {open} answers before the end of a \
         window and {closed} after it, by the database's clock, at servers an hour ahead and an hour behind"
    ))
}

/// Buys under different policies, changes them after each purchase, and asks for returns at the end. Returns how many orders.
async fn policies(store: &OrderStore) -> Result<usize, Failure> {
    let product = product(store).await?;
    let mut bought = Vec::new();
    for window_days in [Some(30), Some(0), Some(2), None] {
        let mut changed = settings();
        changed.policies.return_window_days = window_days;
        store.store.put_settings(store.test.database(), &changed).await;
        tokio::time::sleep(SETTINGS_DELAY).await;
        bought.push((store.buy(&[(product, 1)]).await?, window_days));
    }
    let mut hand = Hand::new(&store.callers, store.ports);
    let mut sql = store.test.raw().await;
    for (order, window_days) in &bought {
        let named = delivered(&mut sql, &mut hand, *order).await?;
        let act = Act::RequestReturn(vec![(0, 1)], "refund");
        let answer = hand.send(&named, Who::Agent, &act, &Request::default()).await?;
        let is_accepted = matches!(answer, Answer::Done(_));
        ensure(is_accepted == (*window_days != Some(0)), || {
            format!("bought with a window of {window_days:?} days, and a return: {answer:?}")
        })?;
        let days: f64 = sqlx::query_scalar(
            "SELECT (extract(epoch FROM returnable_until - delivered_at) / 86400)::float8 FROM placed_order WHERE order_id = $1",
        )
        .bind(order.uuid())
        .fetch_one(&mut sql)
        .await?;
        // Terms without a window count the fourteen days of the law.
        let expected = f64::from(window_days.unwrap_or(14));
        ensure((days - expected).abs() < 0.001, || {
            format!("{expected} days agreed, {days} granted")
        })?;
    }
    Ok(bought.len())
}

/// Ships and delivers an order.
async fn delivered(
    sql: &mut PgConnection,
    hand: &mut Hand,
    order: OrderId,
) -> Result<Named, Failure> {
    let (_, lines) = model_of(sql, order, "pending").await?;
    let named = Named::new(order, lines);
    for act in [Act::Ship(Vec::new()), Act::Deliver(None)] {
        done(hand, &named, Who::Merchant, &act).await?;
    }
    Ok(named)
}

/// Fails unless the clocks of both servers are wrong as they should be.
async fn check_clocks(store: &OrderStore) -> Result<(), Failure> {
    let [ahead, behind] = [time_of_day(store.ports[0]).await?, time_of_day(store.ports[1]).await?];
    let apart = (ahead - behind).rem_euclid(24 * HOUR);
    ensure((apart - 2 * HOUR).abs() < 10, || format!("the servers are {apart} s apart"))
}

/// Asks without a pause whether an item can be returned, from before the end of its window until after it. In the last moments
/// a return of another order with the same window is accepted, afterwards that of a third one is refused. Returns how many
/// answers were before and after the end.
async fn last_second(store: &OrderStore) -> Result<(u32, u32), Failure> {
    let (mut sql, mut hand) = (store.test.raw().await, Hand::new(&store.callers, store.ports));
    let (mut open, mut closed) = (0, 0);
    for server in 0..2 {
        let mut orders = Vec::new();
        for order in store.copy(3, "pending").await? {
            orders.push(delivered(&mut sql, &mut hand, order).await?);
        }
        let until = end_soon(&mut sql, &orders).await?;
        let mut in_time = None;
        let mut before = now(&mut sql).await?;
        while before < until + 0.3 {
            let is_returnable = is_returnable(store, server, orders[0].order).await?;
            let after = now(&mut sql).await?;
            ensure(is_returnable || after >= until, || {
                format!("closed {:.3} s early", until - after)
            })?;
            ensure(!is_returnable || before < until, || {
                format!("open {:.3} s late", before - until)
            })?;
            open += u32::from(is_returnable);
            closed += u32::from(!is_returnable);
            if in_time.is_none() && until - after < 0.2 {
                in_time = Some(request_return(&mut hand, &orders[1], server).await?);
                let after = now(&mut sql).await?;
                let is_accepted = matches!(in_time, Some(Answer::Done(_)));
                ensure(is_accepted || after >= until, || {
                    format!("in the last moments: {in_time:?}")
                })?;
            }
            before = now(&mut sql).await?;
        }
        let late = request_return(&mut hand, &orders[2], server).await?;
        let is_refused =
            matches!(&late, Answer::Refused(422, code) if code == "return_not_eligible");
        ensure(is_refused, || format!("a return after the end of the window: {late:?}"))?;
    }
    ensure(open > 0 && closed > 0, || format!("{open} answers before the end, {closed} after it"))?;
    Ok((open, closed))
}

/// Lets the windows of orders end in a second, and returns when.
async fn end_soon(sql: &mut PgConnection, orders: &[Named]) -> Result<f64, Failure> {
    let ids: Vec<uuid::Uuid> = orders.iter().map(|named| named.order.uuid()).collect();
    let until = now(sql).await? + 1.0;
    sqlx::query(
        "UPDATE placed_order SET returnable_until = to_timestamp($2) WHERE order_id = ANY($1)",
    )
    .bind(ids)
    .bind(until)
    .execute(sql)
    .await?;
    Ok(until)
}

async fn request_return(hand: &mut Hand, named: &Named, server: usize) -> Result<Answer, Failure> {
    let act = Act::RequestReturn(vec![(0, 1)], "refund");
    hand.send(named, Who::Agent, &act, &Request { server, ..Request::default() }).await
}

/// The time of the database.
async fn now(sql: &mut PgConnection) -> Result<f64, Failure> {
    let now = "SELECT extract(epoch FROM clock_timestamp())::float8";
    Ok(sqlx::query_scalar(now).fetch_one(sql).await?)
}

/// Asks whether items of an order can be returned.
async fn is_returnable(store: &OrderStore, server: usize, order: OrderId) -> Result<bool, Failure> {
    let (port, key) = (store.ports[server], &store.callers.agent.key);
    let arguments = json!({ "order_id": order });
    let (status, answer) = tool(port, key, SLUG, "check_return_eligibility", &arguments).await?;
    ensure(status == 200, || format!("check_return_eligibility: {status} {answer}"))?;
    answer["eligible"].as_bool().ok_or_else(|| format!("no answer: {answer}").into())
}

/// A product of the store.
async fn product(store: &OrderStore) -> Result<ProductId, Failure> {
    let id: uuid::Uuid =
        sqlx::query_scalar("SELECT product_id FROM product ORDER BY external_id LIMIT 1")
            .fetch_one(&mut store.test.raw().await)
            .await?;
    Ok(ProductId::from_uuid(id))
}
