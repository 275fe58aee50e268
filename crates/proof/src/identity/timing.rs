//! `timing`: the time to reject a key does not depend on the key: an unknown key, one with the prefix
//! of a valid key, and a revoked one, interleaved and in process. Welch's t-test of each pair.

use std::time::{Duration, Instant};

use database::Work;
use identity::{Actor, AgentKeys, NewAgentKey, NewPerson, Secret};
use primitives::{ClientAddress, Plan, Scope};
use rand::Rng;
use testkit::TestDatabase;

use crate::report::{Failure, Trial, Verdict, ensure, grouped};

/// Two means differ significantly if the absolute t is larger.
const T_MAX: f64 = 4.5;
const KINDS: [&str; 3] = ["unknown", "prefix of a valid key", "revoked"];

pub(crate) async fn prove(trial: Trial) -> Verdict {
    let test = TestDatabase::new().await;
    let (good, revoked) = keys(&test).await?;
    let samples: u32 = trial.by_tier(6_000, 99_999);
    let mut rng = trial.rng(1);
    let mut taken: [Vec<f64>; 3] = Default::default();
    for number in 0..samples {
        trial.progress(|| format!("{} of {}", grouped(number), grouped(samples)));
        let kind = usize::try_from(rng.next_u32() % 3)?;
        let bits = [rng.next_u64(), rng.next_u64(), rng.next_u64(), rng.next_u64()];
        let random = bits.map(|word| format!("{word:016x}")).concat();
        let key = match kind {
            0 => format!("agnt_{random}"),
            1 => format!("{}{}", &good[..13], &random[8..]),
            _ => revoked.clone(),
        };
        // A new cache, so that no earlier lookup matters.
        let keys = AgentKeys::new(test.database().clone(), secret()?, Duration::ZERO);
        let from = ClientAddress(number.to_be_bytes().into());
        let since = Instant::now();
        let refused = keys.agent_of(&key, from).await;
        let nanos = u32::try_from(since.elapsed().as_nanos().min(1_000_000_000))?;
        ensure(refused.is_err(), || String::from("an invalid key was accepted"))?;
        taken[kind].push(f64::from(nanos));
    }
    let cutoff = cutoff(&taken);
    for kind in &mut taken {
        kind.retain(|nanos| *nanos <= cutoff);
    }
    let mut results = Vec::new();
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        let t = welch(&taken[one], &taken[other]);
        ensure(t.abs() < T_MAX, || format!("{} and {}: t = {t:.1}", KINDS[one], KINDS[other]))?;
        results.push(format!("{} / {}: {t:.1}", KINDS[one], KINDS[other]));
    }
    let median = median(&taken[0]) / 1_000.0;
    let samples = grouped(samples);
    Ok(format!("{samples} rejections, median {median:.0} µs; t of {}", results.join(", ")))
}

fn secret() -> Result<Secret, Failure> {
    Ok(Secret::new("a secret for proofs, of 32 bytes and more")?)
}

/// Creates a valid key and a revoked one.
async fn keys(test: &TestDatabase) -> Result<(String, String), Failure> {
    let mut work = Work::for_platform(test.database()).await?;
    let email = "ada@example.com".parse().map_err(|_| "no email")?;
    let new = NewPerson { email, plan: Plan::Free, is_admin: false };
    let password = "correct horse battery";
    let owner = identity::create_person(&mut work, Actor::Operator, &new, password).await?;
    let wanted = NewAgentKey { scopes: [Scope::AgentRead].into(), ..NewAgentKey::default() };
    let (good, _) = identity::issue_agent_key(&mut work, &secret()?, owner, &wanted).await?;
    let (revoked, _) = identity::issue_agent_key(&mut work, &secret()?, owner, &wanted).await?;
    identity::revoke_agent_key(&mut work, owner, revoked.key_id).await?;
    work.commit().await?;
    Ok((good.key, revoked.key))
}

/// Returns the 90th percentile: slower samples measure the machine, not the key.
fn cutoff(taken: &[Vec<f64>; 3]) -> f64 {
    let mut all: Vec<f64> = taken.iter().flatten().copied().collect();
    all.sort_unstable_by(f64::total_cmp);
    all.get(all.len() * 9 / 10).copied().unwrap_or(f64::INFINITY)
}

fn median(sample: &[f64]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[expect(clippy::cast_precision_loss, reason = "as many as there are samples")]
fn welch(one: &[f64], other: &[f64]) -> f64 {
    let mean = |sample: &[f64]| sample.iter().sum::<f64>() / sample.len() as f64;
    let spread = |sample: &[f64], mean: f64| {
        let squares: f64 = sample.iter().map(|value| (value - mean).powi(2)).sum();
        squares / (sample.len() as f64 - 1.0) / sample.len() as f64
    };
    let (left, right) = (mean(one), mean(other));
    (left - right) / (spread(one, left) + spread(other, right)).sqrt()
}
