//! Generated trust scores of ninety days, with the basis `demo`.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::time::Duration;

use primitives::Timestamp;
use trust::{Basis, Component, Computation};
use uuid::Uuid;

const DAYS: u32 = 90;
const DAY: Duration = Duration::from_hours(24);
/// Largest difference between a component and the score.
const COMPONENT_DISTANCE_MAX: f64 = 0.1;
/// Largest difference between a score and the current one.
const SCORE_DISTANCE_MAX: f64 = 0.03;

/// Returns the scores of a store up to the current one, oldest first; none for a store without a score.
pub(crate) fn scores(
    merchant: Uuid,
    score: Option<f64>,
    provisional: bool,
    now: Timestamp,
) -> Vec<Computation> {
    let Some(score) = score else { return Vec::new() };
    let room = score.min(1.0 - score);
    let day = |days_ago: u32| {
        let wave = (TAU * (f64::from(days_ago) / 30.0 + fraction(merchant, 40))).sin();
        let distance = (room / 4.0).min(SCORE_DISTANCE_MAX) * wave * f64::from(days_ago);
        let day_score = rounded(score + distance / f64::from(DAYS));
        Computation {
            computed_at: now.minus(DAY * days_ago),
            score: Some(day_score),
            provisional,
            basis: Basis::Demo,
            components: components(merchant, day_score),
        }
    };
    (0..DAYS).rev().map(day).collect()
}

/// Returns components whose weighted sum is the score.
fn components(merchant: Uuid, score: f64) -> BTreeMap<Component, f64> {
    let room = (score.min(1.0 - score) / 2.0).min(COMPONENT_DISTANCE_MAX);
    let distance = |number: u32| room * (2.0 * fraction(merchant, number) - 1.0);
    let numbered = || (0_u32..).zip(Component::ALL.iter().copied());
    let mean: f64 =
        numbered().map(|(number, component)| component.weight() * distance(number)).sum();
    numbered()
        .map(|(number, component)| (component, rounded(score + distance(number) - mean)))
        .collect()
}

/// Returns a number from 0 to 1 that follows from a store and an index.
fn fraction(merchant: Uuid, index: u32) -> f64 {
    let bytes = crate::world::id(&format!("past/{merchant}/{index}")).into_bytes();
    f64::from(u16::from_be_bytes([bytes[0], bytes[1]])) / f64::from(u16::MAX)
}

fn rounded(value: f64) -> f64 {
    (value * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_add_up_to_the_score_of_each_day_and_the_last_score_is_the_current_one() {
        let now = Timestamp::from_unix_micros(1_793_491_200_000_000);
        for (number, score) in [(1, 0.97), (2, 0.71), (3, 0.18), (4, 1.0)] {
            let merchant = Uuid::from_u128(number);
            let history = scores(merchant, Some(score), false, now);
            assert_eq!(history.len(), 90);
            assert_eq!(
                history.last().map(|last| (last.computed_at, last.score)),
                Some((now, Some(score)))
            );
            for computation in &history {
                let sum = Computation::weighted_sum(&computation.components).unwrap();
                assert!(
                    (sum - computation.score.unwrap()).abs() < 0.000_1,
                    "{sum} {computation:?}"
                );
                assert!(computation.components.values().all(|value| (0.0..=1.0).contains(value)));
            }
        }
        assert!(scores(Uuid::from_u128(5), None, true, now).is_empty());
    }
}
