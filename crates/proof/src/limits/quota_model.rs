//! `quota-model`: calls of several callers and tools in random order, against a model: a window admits
//! its limit and not one more call, the remaining quota never grows within a window, its end never
//! moves, and a rejected call consumes nothing.

use std::collections::HashMap;
use std::time::Duration;

use limits::{Bucket, Caller, Class, Limiter, QuotaDecision, QuotaRequest};
use primitives::{Id, KeyId};
use rand::Rng;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use super::Redis;
use crate::report::{Failure, Trial, Verdict, ensure, grouped};

/// Number of schedules that run concurrently.
const CONCURRENCY: u64 = 32;
const ATTEMPTS: u64 = 20;
const TOOLS: [(&str, u32); 3] =
    [("search_products", 5), ("create_cart", 3), ("get_trust_score", 60)];
const TIERS: [u32; 3] = [4, 9, 30];

/// The calls admitted in one window, by bucket.
#[derive(Default)]
struct Window {
    tier: u32,
    tools: [u32; 3],
    /// The remaining quota last reported for the tier alone.
    remaining: Option<u32>,
}

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let redis = Redis::start().await?;
    let limiter = Limiter::new(&redis.url(), "proof")?;
    let probe = Caller::agent(KeyId::from_random(0));
    while limiter.take(&probe, &QuotaRequest::tier(Class::Read, "x", 1_000_000)).await.degraded {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let schedules: u64 = trial.by_tier(1_000, 10_000);
    let (mut calls, mut rejected, mut windows, mut repeated) = (0, 0, 0, 0);
    for first in (0..schedules).step_by(usize::try_from(CONCURRENCY)?) {
        trial.progress(|| format!("schedule {} of {}", grouped(first), grouped(schedules)));
        let mut running = JoinSet::new();
        for number in first..(first + CONCURRENCY).min(schedules) {
            running.spawn(until_shared(limiter.clone(), number, trial.clone()));
        }
        while let Some(ended) = running.join_next().await {
            let (done, attempts) = ended??;
            calls += done.calls;
            rejected += done.rejected;
            windows += done.windows;
            repeated += attempts - 1;
        }
    }
    Ok(format!(
        "{} schedules, {} calls, {} rejected, {} windows: every decision equals the model's; {repeated} \
         schedules repeated because Redis was slow",
        grouped(schedules),
        grouped(calls),
        grouped(rejected),
        grouped(windows)
    ))
}

/// The counts of a schedule.
struct Done {
    calls: u64,
    rejected: u64,
    windows: u64,
}

/// Runs a schedule that Redis counts from its first call to its last. If a call was counted locally,
/// the schedule is repeated with another caller.
async fn until_shared(limiter: Limiter, number: u64, trial: Trial) -> Result<(Done, u64), Failure> {
    for attempt in 1..=ATTEMPTS {
        let caller = u128::from(number) + (u128::from(attempt) << 64);
        if let Some(done) = schedule(&limiter, caller, trial.rng(number)).await? {
            return Ok((done, attempt));
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    Err("Redis did not answer in time".into())
}

/// Runs one caller with its own quota and a random order of tools. Returns `None` if a call was counted
/// locally.
async fn schedule(
    limiter: &Limiter,
    caller: u128,
    mut rng: StdRng,
) -> Result<Option<Done>, Failure> {
    let caller = Caller::agent(KeyId::from_random(caller));
    let tier = TIERS[usize::try_from(rng.next_u32() % 3)?];
    let calls = 10 + u64::from(rng.next_u32() % 50);
    let mut windows: HashMap<u64, Window> = HashMap::new();
    let (mut rejected, mut newest) = (0, 0);
    for _ in 0..calls {
        let tool = usize::try_from(rng.next_u32() % 4)?;
        let mut request = QuotaRequest::tier(Class::Read, "mcp", tier);
        if let Some((name, limit)) = TOOLS.get(tool) {
            request = request.and_tool(None, name, *limit);
        }
        let decision = limiter.take(&caller, &request).await;
        if decision.degraded {
            return Ok(None);
        }
        ensure(decision.reset >= newest, || String::from("the end of a window moved back"))?;
        newest = decision.reset;
        let window = windows.entry(decision.reset).or_default();
        verify(window, tier, TOOLS.get(tool).map(|(_, limit)| (tool, *limit)), &decision)?;
        rejected += u64::from(!decision.is_admitted());
    }
    Ok(Some(Done { calls, rejected, windows: u64::try_from(windows.len())? }))
}

/// Compares a decision with the model, and counts it.
fn verify(
    window: &mut Window,
    tier: u32,
    tool: Option<(usize, u32)>,
    decision: &QuotaDecision,
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
    let actual = (decision.exceeded, decision.limit, decision.remaining);
    ensure(actual == expected, || format!("decided {actual:?}, the model expects {expected:?}"))?;
    if decision.is_admitted() {
        window.tier += 1;
        if let Some((tool, _)) = tool {
            window.tools[tool] += 1;
        } else {
            // With the tier bucket alone the remaining quota never grows.
            let before = window.remaining.replace(decision.remaining);
            ensure(before.is_none_or(|before| before > decision.remaining), || {
                String::from("the remaining quota grew")
            })?;
        }
    }
    Ok(())
}
