//! `refunds`: a hundred refunds of one order at once, at two processes; then all units of an order returned one by one. Prices,
//! a discount, a tax and shipping leave a remainder everywhere. What was kept and what was refunded add up to what was paid, to
//! the minor unit.
//!
//! Without the lock of the order, or with a sum that is read before it, some of the hundred would be refunded twice: the sum of
//! all requests is far above what was paid.

use futures::future::join_all;
use primitives::OrderId;
use rand::RngExt;
use rand::rngs::StdRng;
use sqlx::PgConnection;

use super::acts::{Answer, Hand, Named, Request};
use super::books;
use super::model::{Act, ReturnStep, Who};
use super::store::{OrderStore, model_of};
use crate::report::{Failure, Trial, Verdict, ensure, grouped};

/// Refunds of one order at once.
const REFUNDS: usize = 100;
/// Different ones among them; the others are repetitions.
const DIFFERENT: usize = 60;

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let store = OrderStore::open().await?;
    let mut rng = trial.rng(2);
    let (rounds, returned) = trial.by_tier((4, 2), (40, 8));
    let (mut accepted, mut refused) = (0, 0);
    let mut hands: Vec<Hand> =
        (0..REFUNDS).map(|_| Hand::new(&store.callers, store.ports)).collect();
    for order in store.copy(rounds, "pending").await? {
        let round = refund_at_once(&store, &mut hands, order, &mut rng).await?;
        accepted += round.0;
        refused += round.1;
    }
    ensure(accepted > 0 && refused > 0, || format!("{accepted} accepted, {refused} refused"))?;
    let mut returns = 0;
    for order in store.copy(returned * store.bought.len(), "pending").await? {
        returns += return_all(&store, &mut hands, order, &mut rng).await?;
    }
    let totals = books::check(&mut store.test.raw().await).await?;
    Ok(format!(
        "{} concurrent refunds accepted and {} refused, {} returns of single units settled: of {} minor units {} were refunded \
         and {} kept",
        grouped(accepted),
        grouped(refused),
        grouped(returns),
        grouped(totals.paid_minor),
        grouped(totals.refunded_minor),
        grouped(totals.paid_minor - totals.refunded_minor),
    ))
}

/// Sends refunds of an order together, of which some are repeated with their idempotency key, and returns how many were accepted
/// and refused.
async fn refund_at_once(
    store: &OrderStore,
    hands: &mut [Hand],
    order: OrderId,
    rng: &mut StdRng,
) -> Result<(u64, u64), Failure> {
    let mut sql = store.test.raw().await;
    let (model, lines) = model_of(&mut sql, order, "pending").await?;
    let named = Named::new(order, lines);
    // Together several times what was paid.
    let most = (model.paid_minor / 8).max(2);
    let amounts: Vec<i64> = (0..DIFFERENT).map(|_| rng.random_range(1..=most)).collect();
    let mut sent = Vec::new();
    for (at, hand) in hands.iter_mut().enumerate() {
        let (named, act) = (&named, Act::Refund(Some(amounts[at % DIFFERENT])));
        sent.push(async move {
            let key = format!("{order}-{}", at % DIFFERENT);
            let request = Request { version: None, idempotency_key: Some(&key), server: at % 2 };
            hand.send(named, Who::Merchant, &act, &request).await
        });
    }
    // A refusal is not recorded under its key, so that one acceptance of two requests decides.
    let mut is_accepted = [false; DIFFERENT];
    for (at, answer) in join_all(sent).await.into_iter().enumerate() {
        match answer? {
            Answer::Done(_) => is_accepted[at % DIFFERENT] = true,
            Answer::Refused(400, code) if code == "invalid_request" => {}
            Answer::Refused(status, code) => {
                return Err(format!("a refund: {status} {code}").into());
            }
        }
    }
    check_refunds(&mut sql, order, model.paid_minor, &amounts, &is_accepted).await
}

/// Fails unless what is stored is what was accepted, and no refund was refused that was possible.
async fn check_refunds(
    sql: &mut PgConnection,
    order: OrderId,
    paid: i64,
    amounts: &[i64],
    is_accepted: &[bool],
) -> Result<(u64, u64), Failure> {
    let (accepted, refused): (Vec<_>, Vec<_>) =
        amounts.iter().zip(is_accepted).partition(|(_, is_accepted)| **is_accepted);
    let sum: i64 = accepted.iter().map(|(amount, _)| **amount).sum();
    let (refunded, rows): (i64, i64) = sqlx::query_as(
        "SELECT refunded_minor, (SELECT count(*) FROM order_refund AS r WHERE r.order_id = o.order_id)
         FROM placed_order AS o WHERE order_id = $1",
    )
    .bind(order.uuid())
    .fetch_one(sql)
    .await?;
    let is_stored = refunded == sum && usize::try_from(rows) == Ok(accepted.len());
    ensure(is_stored && sum <= paid, || {
        let count = accepted.len();
        format!("{count} refunds of {sum} accepted, {rows} of {refunded} stored, {paid} paid")
    })?;
    let least = refused.iter().map(|(amount, _)| **amount).min();
    ensure(least.is_none_or(|least| least > paid - refunded), || {
        format!("a refund of {least:?} was refused although {} are left", paid - refunded)
    })?;
    Ok((u64::try_from(accepted.len())?, u64::try_from(refused.len())?))
}

/// Ships and delivers an order, returns all of its units one by one in random order, and refunds what was paid for them. What is
/// left is the price of shipping. Returns the number of returns.
async fn return_all(
    store: &OrderStore,
    hands: &mut [Hand],
    order: OrderId,
    rng: &mut StdRng,
) -> Result<u64, Failure> {
    let mut sql = store.test.raw().await;
    let (model, lines) = model_of(&mut sql, order, "pending").await?;
    let mut named = Named::new(order, lines);
    let hand = &mut hands[0];
    for act in [Act::Ship(Vec::new()), Act::Deliver(None)] {
        done(hand, &named, Who::Merchant, &act).await?;
    }
    let mut units: Vec<usize> = (0..model.lines.len())
        .flat_map(|line| {
            std::iter::repeat_n(line, usize::try_from(model.lines[line].ordered).unwrap_or(0))
        })
        .collect();
    rand::seq::SliceRandom::shuffle(units.as_mut_slice(), rng);
    for (at, line) in units.iter().enumerate() {
        done(hand, &named, Who::Agent, &Act::RequestReturn(vec![(*line, 1)], "refund")).await?;
        named.returns = returns_of(&mut sql, order).await?;
        for step in [ReturnStep::Approve, ReturnStep::Receive, ReturnStep::Settle(None)] {
            done(hand, &named, Who::Merchant, &Act::Return(at, step)).await?;
        }
    }
    let (total, refunded, shipping): (i64, i64, i64) = sqlx::query_as(
        "SELECT total_minor, refunded_minor, shipping_minor FROM placed_order WHERE order_id = $1",
    )
    .bind(order.uuid())
    .fetch_one(&mut sql)
    .await?;
    ensure(total - refunded == shipping, || {
        format!("of {total} paid, {refunded} were refunded; shipping was {shipping}")
    })?;
    Ok(u64::try_from(units.len())?)
}

/// Returns the returns of an order, in the order in which they were requested.
pub(super) async fn returns_of(
    sql: &mut PgConnection,
    order: OrderId,
) -> Result<Vec<String>, Failure> {
    let ids = "SELECT details ->> 'return_id' FROM order_history
               WHERE order_id = $1 AND kind = 'return_requested' ORDER BY sequence";
    Ok(sqlx::query_scalar(ids).bind(order.uuid()).fetch_all(sql).await?)
}

/// Sends an act and fails unless it is accepted.
pub(super) async fn done(
    hand: &mut Hand,
    named: &Named,
    who: Who,
    act: &Act,
) -> Result<(), Failure> {
    match hand.send(named, who, act, &Request::default()).await? {
        Answer::Done(_) => Ok(()),
        Answer::Refused(status, code) => Err(format!("{who:?} {act:?}: {status} {code}").into()),
    }
}
