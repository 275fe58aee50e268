//! Amounts that are shared out and rounded: to the minor unit, and always adding up.

/// Shares an amount out in proportion to weights. The parts add up to it exactly: what rounding leaves over goes to those
/// that lost most by it, the first of them first.
pub(crate) fn share_out(amount: i64, weights: &[i64]) -> Vec<i64> {
    let all: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
    if all <= 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: &i64| i128::from(amount) * i128::from(*weight);
    let mut parts: Vec<i64> =
        weights.iter().map(|weight| i64::try_from(exact(weight) / all).unwrap_or(0)).collect();
    let mut places: Vec<usize> = (0..weights.len()).collect();
    places.sort_by_key(|place| std::cmp::Reverse(exact(&weights[*place]) % all));
    let left = amount - parts.iter().sum::<i64>();
    for place in places.into_iter().take(usize::try_from(left).unwrap_or(0)) {
        parts[place] += 1;
    }
    parts
}

/// So many of `whole` parts of an amount, rounded half up.
pub(crate) fn part_of(amount: i64, part: i64, whole: i64) -> i64 {
    let exact = i128::from(amount) * i128::from(part);
    let whole = i128::from(whole);
    i64::try_from((2 * exact + whole) / (2 * whole)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_left_over_goes_to_those_who_lost_most() {
        assert_eq!(share_out(100, &[1, 1, 1]), [34, 33, 33]);
        assert_eq!(share_out(10, &[0, 3]), [0, 10]);
        assert_eq!(share_out(5, &[0, 0]), [0, 0]);
    }

    #[test]
    fn half_a_unit_is_rounded_up() {
        assert_eq!(part_of(50, 1_900, 10_000), 10);
        assert_eq!(part_of(1_190, 1_900, 11_900), 190);
        assert_eq!(part_of(49, 100, 10_000), 0);
    }

    proptest! {
        #[test]
        fn parts_add_up(amount in 0_i64..10_000_000, weights in prop::collection::vec(0_i64..1_000_000, 1..20)) {
            let parts = share_out(amount, &weights);
            let all: i64 = weights.iter().sum();
            prop_assert_eq!(parts.iter().sum::<i64>(), if all == 0 { 0 } else { amount });
            prop_assert!(parts.iter().all(|part| *part >= 0));
        }
    }
}
