//! Random acts. Most are acts that the model accepts, so that histories get far; the others are anything.

use rand::RngExt;
use rand::rngs::StdRng;

use super::{History, ROUND_MAX};
use crate::orders::model::{Act, OrderModel, ReturnStep, Status, Units, Who};

/// How often another act is drawn until the model accepts one.
const DRAWS_MAX: usize = 8;
const CANCEL_REASONS: [Status; 3] = ["out_of_stock", "price_error", "other"];
const OUTCOMES: [Status; 5] = ["refund", "refund", "store_credit", "exchange", "replacement"];
const PAYMENTS: [Status; 7] =
    ["failed", "failed", "disputed", "authorized", "paid", "paid", "paid"];

/// An act that somebody tries, and how.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) who: Who,
    pub(super) act: Act,
    /// The version that the act is based on, if it says so.
    pub(super) version: Option<i32>,
    pub(super) idempotency_key: Option<String>,
    /// The position of the server.
    pub(super) server: usize,
}

/// Returns the calls of a round: at most `most`, and at least one.
pub(super) fn round(rng: &mut StdRng, history: &History, most: usize) -> Vec<Call> {
    let wanted = [1, 1, 2, 2, 3][rng.random_range(0..5_usize)].min(most);
    let mut calls: Vec<Call> = Vec::new();
    for _ in 0..wanted {
        let (who, act) = act(rng, &history.model);
        // The job acts on all orders that are due; a second one of the same order would change the window for both.
        if who == Who::Job && calls.iter().any(|call| call.who == Who::Job) {
            continue;
        }
        let is_versioned = takes_version(who, &act) && rng.random_ratio(1, 6);
        let version = is_versioned.then_some(history.model.version);
        let server = rng.random_range(0..2_usize);
        calls.push(Call { who, act, version, idempotency_key: None, server });
    }
    let is_repeatable = |call: &Call| !call.act.is_read() && takes_idempotency_key(call.who);
    if calls.len() < ROUND_MAX && rng.random_ratio(1, 8) && calls.first().is_some_and(is_repeatable)
    {
        let key = format!("{:016x}", rng.random::<u64>());
        calls[0].idempotency_key = Some(key);
        let mut repeated = calls[0].clone();
        repeated.server = 1 - repeated.server;
        calls.push(repeated);
    }
    calls
}

/// Whether a request states the version that it is based on.
const fn takes_version(who: Who, act: &Act) -> bool {
    let is_change = matches!(
        act,
        Act::Confirm
            | Act::Review
            | Act::Process
            | Act::Ship(_)
            | Act::Deliver(_)
            | Act::Cancel(..)
            | Act::Refund(_)
            | Act::Return(..)
    );
    is_change && matches!(who, Who::Merchant)
}

const fn takes_idempotency_key(who: Who) -> bool {
    matches!(who, Who::Merchant | Who::Agent)
}

/// Returns an act that the model accepts and that changes something; sometimes any.
fn act(rng: &mut StdRng, order: &OrderModel) -> (Who, Act) {
    let is_any = rng.random_ratio(1, 5);
    let mut drawn = draw(rng, order);
    for _ in 0..DRAWS_MAX {
        if is_any || is_useful(order, &drawn) {
            break;
        }
        drawn = draw(rng, order);
    }
    drawn
}

fn is_useful(order: &OrderModel, (who, act): &(Who, Act)) -> bool {
    match act {
        Act::CloseWindow => order.status == "delivered",
        act => order.clone().execute(*who, act, &[]).is_ok_and(|entries| !entries.is_empty()),
    }
}

fn draw(rng: &mut StdRng, order: &OrderModel) -> (Who, Act) {
    match rng.random_range(0..100_u32) {
        0..8 => (Who::Merchant, Act::Confirm),
        8..11 => (Who::Merchant, Act::Review),
        11..16 => (Who::Merchant, Act::Process),
        16..30 => (Who::Merchant, Act::Ship(units(rng, order))),
        30..42 => (Who::Merchant, Act::Deliver(parcel(rng, order))),
        42..46 => (
            Who::Merchant,
            Act::Cancel(units(rng, order), CANCEL_REASONS[rng.random_range(0..3_usize)]),
        ),
        46..48 => (Who::Agent, Act::Cancel(units(rng, order), "buyer_request")),
        48..54 => (Who::Merchant, Act::Refund(amount(rng, order))),
        54..66 => (
            Who::Agent,
            Act::RequestReturn(returned(rng, order), OUTCOMES[rng.random_range(0..5_usize)]),
        ),
        66..84 => return_step(rng, order),
        84..86 => (Who::Agent, Act::Note(rng.random_range(0..5))),
        86..88 => (Who::Agent, Act::OpenDispute),
        88..90 => (Who::Agent, Act::WithdrawDispute(order.disputes.checked_sub(1))),
        90..93 => (Who::Payment, Act::Payment(PAYMENTS[rng.random_range(0..7_usize)])),
        93..95 => (Who::Merchant, Act::Read),
        95..97 => (Who::Agent, Act::Read),
        _ => (Who::Job, Act::CloseWindow),
    }
}

/// Units of lines, up to those ordered; an empty list means all.
fn units(rng: &mut StdRng, order: &OrderModel) -> Units {
    if rng.random_ratio(2, 5) {
        return Vec::new();
    }
    some_units(rng, order, 0)
}

/// Units to return: usually no more than were shipped.
fn returned(rng: &mut StdRng, order: &OrderModel) -> Units {
    some_units(rng, order, 1)
}

/// Units of at least one line, sometimes more than ordered by `beyond`.
fn some_units(rng: &mut StdRng, order: &OrderModel, beyond: u32) -> Units {
    let first = rng.random_range(0..order.lines.len());
    let mut units = Vec::new();
    for (at, line) in order.lines.iter().enumerate() {
        if at == first || rng.random_ratio(1, 3) {
            units.push((at, rng.random_range(1..=(line.ordered / 2).max(1) + beyond)));
        }
    }
    units
}

fn parcel(rng: &mut StdRng, order: &OrderModel) -> Option<usize> {
    let is_one = !order.parcels.is_empty() && rng.random_ratio(2, 5);
    is_one.then(|| rng.random_range(0..order.parcels.len()))
}

fn amount(rng: &mut StdRng, order: &OrderModel) -> Option<i64> {
    let left = order.refundable_minor();
    match rng.random_range(0..10) {
        0 => None,
        1 => Some(left + 1),
        _ => Some(rng.random_range(1..=(left / 3).max(1))),
    }
}

/// A step of a return: half of them are steps that its status allows, so that some returns get to their end.
fn return_step(rng: &mut StdRng, order: &OrderModel) -> (Who, Act) {
    if order.returns.is_empty() {
        return (Who::Merchant, Act::Confirm);
    }
    let at = rng.random_range(0..order.returns.len());
    let named = rng.random_range(0..=(order.refundable_minor() / 2).max(1));
    let sender = if rng.random_ratio(1, 2) { Who::Agent } else { Who::Merchant };
    let steps = [
        ReturnStep::Approve,
        ReturnStep::Approve,
        ReturnStep::Decline,
        ReturnStep::Send,
        ReturnStep::Send,
        ReturnStep::Receive,
        ReturnStep::Receive,
        ReturnStep::Inspect,
        ReturnStep::Settle(None),
        ReturnStep::Settle(None),
        ReturnStep::Settle(Some(named)),
        ReturnStep::Reject,
        ReturnStep::Close,
        ReturnStep::Cancel,
    ];
    let mut acts = steps.map(|step| (who_takes(&step, sender), Act::Return(at, step))).to_vec();
    if rng.random_ratio(1, 2) && acts.iter().any(|act| is_useful(order, act)) {
        acts.retain(|act| is_useful(order, act));
    }
    acts.swap_remove(rng.random_range(0..acts.len()))
}

/// Returns who takes a step of a return; either side sends it.
const fn who_takes(step: &ReturnStep, sender: Who) -> Who {
    match step {
        ReturnStep::Cancel => Who::Agent,
        ReturnStep::Send => sender,
        _ => Who::Merchant,
    }
}
