//! Where randomness comes from.

use std::sync::{Arc, Mutex, PoisonError};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// The dice of a process. Each `Work` gets its own generator from them: in production one fed by
/// the operating system, in a test one that follows from the seed.
#[derive(Debug, Clone, Default)]
pub struct Dice(Option<Arc<Mutex<StdRng>>>);

impl Dice {
    /// Dice nobody can foresee.
    #[must_use]
    pub fn real() -> Self {
        Self(None)
    }

    /// Dice that fall the same way each time. Clones share them.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Some(Arc::new(Mutex::new(StdRng::seed_from_u64(seed)))))
    }

    /// 128 bits for something that is no work: the name of a request.
    #[must_use]
    pub fn draw(&self) -> u128 {
        let mut random = self.fork();
        u128::from(random.next_u64()) << 64 | u128::from(random.next_u64())
    }

    /// A generator for one `Work`.
    pub(crate) fn fork(&self) -> StdRng {
        match &self.0 {
            Some(seeded) => seeded.lock().unwrap_or_else(PoisonError::into_inner).fork(),
            None => unforeseeable(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the one home of randomness")]
fn unforeseeable() -> StdRng {
    StdRng::from_rng(&mut rand::rng())
}
