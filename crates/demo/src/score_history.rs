//! Ninety days of scores for the demo world. They are made up, and say so.

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::time::Duration;

use primitives::Timestamp;
use trust::{Basis, Component, Computation};
use uuid::Uuid;

/// Days of the history.
const DAYS: u32 = 90;
const DAY: Duration = Duration::from_hours(24);
/// The furthest a component lies from the score, and a score from the present one.
const COMPONENT_DISTANCE_MAX: f64 = 0.1;
const DAY_DISTANCE_MAX: f64 = 0.03;

/// The scores of a store up to the present one, oldest first; none for a store without a score.
pub(crate) fn scores(
    merchant: Uuid,
    score: Option<f64>,
    provisional: bool,
    present: Timestamp,
) -> Vec<Computation> {
    let Some(score) = score else { return Vec::new() };
    let room = score.min(1.0 - score);
    let day = |days_ago: u32| {
        let wave = (TAU * (f64::from(days_ago) / 30.0 + share(merchant, 40))).sin();
        let distance = (room / 4.0).min(DAY_DISTANCE_MAX) * wave * f64::from(days_ago);
        let that_day = rounded(score + distance / f64::from(DAYS));
        Computation {
            computed_at: present.minus(DAY * days_ago),
            score: Some(that_day),
            provisional,
            basis: Basis::Demo,
            components: components(merchant, that_day),
        }
    };
    (0..DAYS).rev().map(day).collect()
}

/// Figures whose weighted sum is the score.
fn components(merchant: Uuid, score: f64) -> BTreeMap<Component, f64> {
    let room = (score.min(1.0 - score) / 2.0).min(COMPONENT_DISTANCE_MAX);
    let distance = |number: u32| room * (2.0 * share(merchant, number) - 1.0);
    let numbered = || (0_u32..).zip(Component::all());
    let mean: f64 =
        numbered().map(|(number, component)| component.weight() * distance(number)).sum();
    numbered()
        .map(|(number, component)| (component, rounded(score + distance(number) - mean)))
        .collect()
}

/// A number from 0 to 1 that belongs to a store and a place.
fn share(merchant: Uuid, place: u32) -> f64 {
    let bytes = crate::world::id(&format!("past/{merchant}/{place}")).into_bytes();
    f64::from(u16::from_be_bytes([bytes[0], bytes[1]])) / f64::from(u16::MAX)
}

fn rounded(figure: f64) -> f64 {
    (figure * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_make_the_score_of_each_day_and_the_last_is_in_force() {
        let present = Timestamp::from_unix_micros(1_793_491_200_000_000);
        for (number, score) in [(1, 0.97), (2, 0.71), (3, 0.18), (4, 1.0)] {
            let merchant = Uuid::from_u128(number);
            let past = scores(merchant, Some(score), false, present);
            assert_eq!(past.len(), 90);
            assert_eq!(
                past.last().map(|last| (last.computed_at, last.score)),
                Some((present, Some(score)))
            );
            for made in &past {
                let sum = Computation::weighted_sum(&made.components).unwrap();
                assert!((sum - made.score.unwrap()).abs() < 0.000_1, "{sum} {made:?}");
                assert!(made.components.values().all(|figure| (0.0..=1.0).contains(figure)));
            }
        }
        assert!(scores(Uuid::from_u128(5), None, true, present).is_empty());
    }
}
