//! (a) Calls in any order, of several callers and tools, against a model that counts by hand: as many are let in as the figures
//! say and not one more, what is left never grows within a window, its end never moves, and a refusal takes nothing.

use std::collections::HashMap;
use std::time::Duration;

use limits::{Bucket, Caller, Charge, Class, Limiter, Verdict};
use primitives::{Id, KeyId};
use rand::Rng;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use super::Redis;
use crate::report::{Failure, Trial, Verdict as Finding, ensure, grouped};

const AT_ONCE: u64 = 32;
const TRIES: u64 = 20;
const TOOLS: [(&str, u32); 3] =
    [("search_products", 5), ("create_cart", 3), ("get_trust_score", 60)];
const TIERS: [u32; 3] = [4, 9, 30];

/// What was let in of one window, by bucket.
#[derive(Default)]
struct Window {
    tier: u32,
    tools: [u32; 3],
    told: Option<u32>,
}

pub(crate) async fn prove(trial: Trial) -> Finding {
    let redis = Redis::start().await?;
    let limiter = Limiter::new(&redis.url(), "proof")?;
    let nobody = Caller::agent(KeyId::from_random(0));
    while limiter.take(&nobody, &Charge::tier(Class::Read, "x", 1_000_000)).await.degraded {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let schedules: u64 = trial.by_tier(1_000, 10_000);
    let (mut calls, mut refused, mut windows, mut repeated) = (0, 0, 0, 0);
    for first in (0..schedules).step_by(usize::try_from(AT_ONCE)?) {
        trial.progress(|| format!("schedule {} of {}", grouped(first), grouped(schedules)));
        let mut running = JoinSet::new();
        for number in first..(first + AT_ONCE).min(schedules) {
            running.spawn(until_shared(limiter.clone(), number, trial.clone()));
        }
        while let Some(ended) = running.join_next().await {
            let (done, tries) = ended??;
            calls += done.calls;
            refused += done.refused;
            windows += done.windows;
            repeated += tries - 1;
        }
    }
    Ok(format!(
        "{} schedules, {} calls, {} refused, {} windows: each verdict as the model's; {repeated} repeated because the \
         machine was late",
        grouped(schedules),
        grouped(calls),
        grouped(refused),
        grouped(windows)
    ))
}

/// What a schedule came to.
struct Done {
    calls: u64,
    refused: u64,
    windows: u64,
}

/// A schedule that Redis counted from its first call to its last. One during which the machine was late is tried again,
/// with another caller.
async fn until_shared(limiter: Limiter, number: u64, trial: Trial) -> Result<(Done, u64), Failure> {
    for tries in 1..=TRIES {
        let caller = u128::from(number) + (u128::from(tries) << 64);
        if let Some(done) = schedule(&limiter, caller, trial.dice(number)).await? {
            return Ok((done, tries));
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    Err("Redis did not answer in time".into())
}

/// One caller: a share of its own, and calls of tools in an order that was drawn.
async fn schedule(
    limiter: &Limiter,
    caller: u128,
    mut dice: StdRng,
) -> Result<Option<Done>, Failure> {
    let caller = Caller::agent(KeyId::from_random(caller));
    let tier = TIERS[usize::try_from(dice.next_u32() % 3)?];
    let calls = 10 + u64::from(dice.next_u32() % 50);
    let mut windows: HashMap<u64, Window> = HashMap::new();
    let (mut refused, mut newest) = (0, 0);
    for _ in 0..calls {
        let tool = usize::try_from(dice.next_u32() % 4)?;
        let mut charge = Charge::tier(Class::Read, "mcp", tier);
        if let Some((name, limit)) = TOOLS.get(tool) {
            charge = charge.and_tool(None, name, *limit);
        }
        let verdict = limiter.take(&caller, &charge).await;
        if verdict.degraded {
            return Ok(None);
        }
        ensure(verdict.reset >= newest, || String::from("a window's end went back"))?;
        newest = verdict.reset;
        let window = windows.entry(verdict.reset).or_default();
        judge(window, tier, TOOLS.get(tool).map(|(_, limit)| (tool, *limit)), &verdict)?;
        refused += u64::from(!verdict.is_admitted());
    }
    Ok(Some(Done { calls, refused, windows: u64::try_from(windows.len())? }))
}

/// Holds a verdict against what was let in before, and counts it.
fn judge(
    window: &mut Window,
    tier: u32,
    tool: Option<(usize, u32)>,
    verdict: &Verdict,
) -> Result<(), Failure> {
    let of_tool = tool.map(|(tool, limit)| (limit - window.tools[tool], limit));
    let left = (tier - window.tier, tier);
    let expected = match (left.0, of_tool) {
        (0, _) => (Some(Bucket::Tier), tier, 0),
        (_, Some((0, limit))) => (Some(Bucket::Tool), limit, 0),
        _ => {
            let (least, limit) = of_tool.map_or(left, |of_tool| left.min(of_tool));
            (None, limit, least - 1)
        }
    };
    let told = (verdict.refused_by, verdict.limit, verdict.remaining);
    ensure(told == expected, || format!("told {told:?}, and the model says {expected:?}"))?;
    if verdict.is_admitted() {
        window.tier += 1;
        if let Some((tool, _)) = tool {
            window.tools[tool] += 1;
        } else {
            // Of one bucket alone: what is left never grows.
            let before = window.told.replace(verdict.remaining);
            ensure(before.is_none_or(|before| before > verdict.remaining), || {
                String::from("what is left grew")
            })?;
        }
    }
    Ok(())
}
