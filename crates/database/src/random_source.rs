//! The source of randomness of a process.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The source of randomness. Each `Work` gets its own generator from it: seeded by the operating system in production,
/// derived from a fixed seed in tests.
#[derive(Debug, Clone, Default)]
pub struct RandomSource(Option<Arc<Mutex<StdRng>>>);

impl RandomSource {
    /// Creates a source seeded by the operating system.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// Creates a deterministic source for tests. Clones share its state.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Some(Arc::new(Mutex::new(StdRng::seed_from_u64(seed)))))
    }

    /// Returns 128 random bits, for values outside a `Work` such as request ids.
    #[must_use]
    pub fn next_u128(&self) -> u128 {
        let mut random = self.fork();
        u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())
    }

    /// Returns a generator for one `Work`.
    pub(crate) fn fork(&self) -> StdRng {
        match &self.0 {
            Some(seeded) => seeded.lock().unwrap_or_else(PoisonError::into_inner).fork(),
            None => from_operating_system(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the only place that reads system randomness")]
fn from_operating_system() -> StdRng {
    StdRng::from_rng(&mut rand::rng())
}
