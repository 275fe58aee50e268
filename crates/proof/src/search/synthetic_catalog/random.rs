//! Dice for the n-th thing that need not be thrown for those before it.

/// A sequence of throws: splitmix64, which does not change with a library's version.
pub(crate) struct Dice(u64);

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Dice {
    /// The dice of one thing of a kind.
    pub(crate) fn of(seed: u64, kind: u64, number: u64) -> Self {
        let kind = kind.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(mix(seed ^ mix(kind ^ mix(number.wrapping_add(kind)))))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub(crate) fn id(&mut self) -> uuid::Uuid {
        uuid::Uuid::from_u64_pair(self.bits(), self.bits())
    }

    /// From zero to below the bound.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        scaled(self.bits() >> 32, bound)
    }

    /// A place in a list.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u32::try_from(length).unwrap_or(u32::MAX))).unwrap_or(0)
    }

    /// From zero to below one.
    pub(crate) fn share(&mut self) -> f64 {
        f64::from(u32::try_from(self.bits() >> 32).unwrap_or(0)) / 4_294_967_296.0
    }

    /// Whether it happens, so many times in a hundred.
    pub(crate) fn happens(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// Around zero, as a sum of twelve throws: nearly normal, with a deviation of one.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }
}

/// Thirty-two bits as a share of the bound.
fn scaled(bits: u64, bound: u32) -> u32 {
    u32::try_from((bits * u64::from(bound)) >> 32).unwrap_or(0)
}

/// Draws from many things of different weight in one step (Walker's alias method).
pub(crate) struct Weighted {
    /// Of each column: below which throw it is meant itself, and what is meant otherwise.
    columns: Vec<(u32, u32)>,
}

impl Weighted {
    /// Zipf's law: the n-th thing has the weight 1 / (n + offset).
    pub(crate) fn zipf(length: usize, offset: f64) -> Self {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let weights: Vec<f64> = (1..=length).map(|rank| 1.0 / (f64::from(rank) + offset)).collect();
        Self::new(&weights)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 2^32 fits"
    )]
    fn new(weights: &[f64]) -> Self {
        let length = u32::try_from(weights.len()).unwrap_or(u32::MAX);
        let sum: f64 = weights.iter().sum();
        let mut shares: Vec<f64> =
            weights.iter().map(|weight| weight * f64::from(length) / sum).collect();
        let mut columns: Vec<(u32, u32)> = (0..length).map(|own| (u32::MAX, own)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|index| shares[*index] < 1.0);
        while let (Some(poor), Some(rich)) = (small.pop(), large.last().copied()) {
            let other = u32::try_from(rich).unwrap_or(0);
            columns[poor] = ((shares[poor] * 4_294_967_295.0) as u32, other);
            shares[rich] -= 1.0 - shares[poor];
            if shares[rich] < 1.0 {
                large.pop();
                small.push(rich);
            }
        }
        Self { columns }
    }

    /// The place of what was drawn.
    pub(crate) fn draw(&self, dice: &mut Dice) -> usize {
        let bits = dice.bits();
        let length = u32::try_from(self.columns.len()).unwrap_or(u32::MAX);
        let column = usize::try_from(scaled(bits >> 32, length)).unwrap_or(0);
        let (threshold, other) = self.columns[column];
        if bits & 0xffff_ffff <= u64::from(threshold) {
            column
        } else {
            usize::try_from(other).unwrap_or(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_follow_the_weights() {
        let weighted = Weighted::new(&[1.0, 2.0, 7.0]);
        let mut dice = Dice::of(1, 1, 1);
        let mut counts = [0_u32; 3];
        for _ in 0..100_000 {
            counts[weighted.draw(&mut dice)] += 1;
        }
        for (count, expected) in counts.into_iter().zip([10_000_u32, 20_000, 70_000]) {
            assert!(count.abs_diff(expected) < 1_000, "{counts:?}");
        }
    }

    #[test]
    fn normal_throws_lie_around_zero() {
        let mut dice = Dice::of(1, 1, 2);
        let throws: Vec<f64> = (0..10_000).map(|_| dice.normal()).collect();
        let mean = throws.iter().sum::<f64>() / 10_000.0;
        let variance = throws.iter().map(|throw| throw * throw).sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.1, "{mean} {variance}");
    }
}
