//! The way in: a place among the calls in flight, then the call's share of the minute.

use crate::caller::Caller;
use crate::charge::Charge;
use crate::limiter::Limiter;
use crate::places::{Place, Places};
use crate::refusal::Limited;
use crate::verdict::Verdict;

/// Lets calls in, or not. Cheap to clone.
#[derive(Clone)]
pub struct Gate(Option<Guarded>);

#[derive(Clone)]
struct Guarded {
    limiter: Limiter,
    places: Places,
}

/// A call that is in. Its place is given back when this is dropped.
#[derive(Debug)]
#[must_use = "a call has its place for as long as it runs"]
pub struct Entered {
    /// What is left of its share; none where nobody counts.
    pub verdict: Option<Verdict>,
    _place: Option<Place>,
}

impl Gate {
    /// Counts by this limiter.
    #[must_use]
    pub fn new(limiter: Limiter) -> Self {
        Self(Some(Guarded { limiter, places: Places::default() }))
    }

    /// Gets ready to count.
    pub async fn connect(&self) {
        if let Some(guarded) = &self.0 {
            guarded.limiter.connect().await;
        }
    }

    /// Lets everybody in: for tests of other things, and to measure what counting costs.
    #[must_use]
    pub fn open_to_all() -> Self {
        Self(None)
    }

    /// Lets a call in. One that finds no place takes nothing from its share.
    pub async fn enter(
        &self,
        caller: &Caller,
        places: usize,
        charge: &Charge,
    ) -> Result<Entered, Limited> {
        let Some(guarded) = &self.0 else {
            return Ok(Entered { verdict: None, _place: None });
        };
        let Some(place) = guarded.places.enter(caller, places) else {
            metrics::counter!("souk_limits_refused_total", "bucket" => "concurrency").increment(1);
            return Err(Limited::Concurrency { places });
        };
        let verdict = guarded.limiter.take(caller, charge).await;
        match verdict.refused_by {
            None => Ok(Entered { verdict: Some(verdict), _place: Some(place) }),
            Some(bucket) => {
                let bucket = bucket.name();
                metrics::counter!("souk_limits_refused_total", "bucket" => bucket).increment(1);
                Err(Limited::Rate(verdict))
            }
        }
    }
}
