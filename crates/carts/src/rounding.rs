//! Allocation and rounding of amounts in minor units.

/// Allocates an amount in proportion to weights. The parts add up to the amount exactly: the remainder goes to the parts
/// with the largest fractions, the first of them first.
pub(crate) fn allocate(amount: i64, weights: &[i64]) -> Vec<i64> {
    let total: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
    if total <= 0 {
        return vec![0; weights.len()];
    }
    let exact = |weight: &i64| i128::from(amount) * i128::from(*weight);
    let mut parts: Vec<i64> =
        weights.iter().map(|weight| i64::try_from(exact(weight) / total).unwrap_or(0)).collect();
    let mut indexes: Vec<usize> = (0..weights.len()).collect();
    indexes.sort_by_key(|index| std::cmp::Reverse(exact(&weights[*index]) % total));
    let remainder = amount - parts.iter().sum::<i64>();
    for index in indexes.into_iter().take(usize::try_from(remainder).unwrap_or(0)) {
        parts[index] += 1;
    }
    parts
}

/// Returns `amount × numerator / denominator`, rounded half up.
pub(crate) fn scale(amount: i64, numerator: i64, denominator: i64) -> i64 {
    let exact = i128::from(amount) * i128::from(numerator);
    let denominator = i128::from(denominator);
    i64::try_from((2 * exact + denominator) / (2 * denominator)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_remainder_goes_to_the_largest_fractions() {
        assert_eq!(allocate(100, &[1, 1, 1]), [34, 33, 33]);
        assert_eq!(allocate(10, &[0, 3]), [0, 10]);
        assert_eq!(allocate(5, &[0, 0]), [0, 0]);
    }

    #[test]
    fn half_a_unit_is_rounded_up() {
        assert_eq!(scale(50, 1_900, 10_000), 10);
        assert_eq!(scale(1_190, 1_900, 11_900), 190);
        assert_eq!(scale(49, 100, 10_000), 0);
    }

    proptest! {
        #[test]
        fn parts_add_up(amount in 0_i64..10_000_000, weights in prop::collection::vec(0_i64..1_000_000, 1..20)) {
            let parts = allocate(amount, &weights);
            let total: i64 = weights.iter().sum();
            prop_assert_eq!(parts.iter().sum::<i64>(), if total == 0 { 0 } else { amount });
            prop_assert!(parts.iter().all(|part| *part >= 0));
        }
    }
}
