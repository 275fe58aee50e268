//! Random numbers for the n-th object, independent of those of all other objects.

/// The `SplitMix64` generator, implemented here so that no library version changes the numbers.
pub(crate) struct SplitMix64(u64);

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl SplitMix64 {
    /// Creates the generator of one object of a stream.
    pub(crate) fn new(seed: u64, stream: u64, number: u64) -> Self {
        let stream = stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(mix(seed ^ mix(stream ^ mix(number.wrapping_add(stream)))))
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub(crate) fn id(&mut self) -> uuid::Uuid {
        uuid::Uuid::from_u64_pair(self.next_u64(), self.next_u64())
    }

    /// Returns a number from zero to below the bound.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        scaled(self.next_u64() >> 32, bound)
    }

    /// Returns an index of a list of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u32::try_from(length).unwrap_or(u32::MAX))).unwrap_or(0)
    }

    /// Returns a number from zero to below one.
    pub(crate) fn fraction(&mut self) -> f64 {
        f64::from(u32::try_from(self.next_u64() >> 32).unwrap_or(0)) / 4_294_967_296.0
    }

    /// Returns `true` with the given probability.
    pub(crate) fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// Returns an approximately normal number with mean zero and standard deviation one: the sum of twelve
    /// uniform numbers.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.fraction()).sum::<f64>() - 6.0
    }
}

/// Scales thirty-two bits to the bound.
fn scaled(bits: u64, bound: u32) -> u32 {
    u32::try_from((bits * u64::from(bound)) >> 32).unwrap_or(0)
}

/// Samples an index by weight in constant time (Walker's alias method).
pub(crate) struct WeightedIndex {
    /// Threshold and alias of each column: up to the threshold the column itself is chosen, above it the
    /// alias.
    columns: Vec<(u32, u32)>,
}

impl WeightedIndex {
    /// Weights by Zipf's law: the n-th index has the weight 1 / (n + offset).
    pub(crate) fn zipf(length: usize, offset: f64) -> Self {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let weights: Vec<f64> = (1..=length).map(|rank| 1.0 / (f64::from(rank) + offset)).collect();
        Self::new(&weights)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a fraction of 2^32 fits"
    )]
    fn new(weights: &[f64]) -> Self {
        let length = u32::try_from(weights.len()).unwrap_or(u32::MAX);
        let sum: f64 = weights.iter().sum();
        let mut scaled_weights: Vec<f64> =
            weights.iter().map(|weight| weight * f64::from(length) / sum).collect();
        let mut columns: Vec<(u32, u32)> = (0..length).map(|own| (u32::MAX, own)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|index| scaled_weights[*index] < 1.0);
        while let (Some(low), Some(high)) = (small.pop(), large.last().copied()) {
            let alias = u32::try_from(high).unwrap_or(0);
            columns[low] = ((scaled_weights[low] * 4_294_967_295.0) as u32, alias);
            scaled_weights[high] -= 1.0 - scaled_weights[low];
            if scaled_weights[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        Self { columns }
    }

    /// Returns a random index.
    pub(crate) fn sample(&self, rng: &mut SplitMix64) -> usize {
        let bits = rng.next_u64();
        let length = u32::try_from(self.columns.len()).unwrap_or(u32::MAX);
        let column = usize::try_from(scaled(bits >> 32, length)).unwrap_or(0);
        let (threshold, alias) = self.columns[column];
        if bits & 0xffff_ffff <= u64::from(threshold) {
            column
        } else {
            usize::try_from(alias).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_follow_the_weights() {
        let weighted = WeightedIndex::new(&[1.0, 2.0, 7.0]);
        let mut rng = SplitMix64::new(1, 1, 1);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[weighted.sample(&mut rng)] += 1;
        }
        for (count, expected) in counts.into_iter().zip([10_000_u32, 20_000, 70_000]) {
            assert!(count.abs_diff(expected) < 1_000, "{counts:?}");
        }
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_deviation_one() {
        let mut rng = SplitMix64::new(1, 1, 2);
        let samples: Vec<f64> = (0..10_000).map(|_| rng.normal()).collect();
        let mean = samples.iter().sum::<f64>() / 10_000.0;
        let variance = samples.iter().map(|sample| sample * sample).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.1, "{mean} {variance}");
    }
}
