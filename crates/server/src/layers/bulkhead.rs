//! One hot store never takes the rest down: each has so many places, and no more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::{Asked, Stopped};

/// Requests in flight per store. A store without any has no entry, so the map is never larger than
/// the number of requests in flight.
#[derive(Debug, Clone)]
pub(crate) struct Bulkhead {
    places: usize,
    body_bytes_max: usize,
    taken: Arc<Mutex<HashMap<String, usize>>>,
}

/// A place, given back when dropped: also when the client goes away.
#[derive(Debug)]
struct Place {
    bulkhead: Bulkhead,
    slug: String,
}

impl Bulkhead {
    pub(crate) fn new(places: usize, body_bytes_max: usize) -> Self {
        Self { places, body_bytes_max, taken: Arc::default() }
    }

    fn enter(&self, slug: &str) -> Option<Place> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(slug.to_ascii_lowercase()).or_insert(0);
        if *count >= self.places {
            return None;
        }
        *count += 1;
        Some(Place { bulkhead: self.clone(), slug: slug.to_ascii_lowercase() })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.bulkhead.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.slug) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.slug);
            }
        }
    }
}

pub(crate) async fn bulkhead(
    State(bulkhead): State<Bulkhead>,
    parameters: RawPathParams,
    request: Request,
    next: Next,
) -> Response {
    let slug = parameters.iter().find(|(name, _)| *name == "slug").map(|(_, slug)| slug.to_owned());
    let Some(slug) = slug else {
        return next.run(request).await;
    };
    // A place is for work: whoever is slow to send waits outside.
    let asked = Asked::of(&request);
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, bulkhead.body_bytes_max).await else {
        let bytes_max = bulkhead.body_bytes_max.try_into().unwrap_or(u64::MAX);
        return asked.refuse(Stopped::TooLarge(bytes_max));
    };
    let request = Request::from_parts(parts, Body::from(body));
    let Some(_place) = bulkhead.enter(&slug) else {
        metrics::counter!("souk_bulkhead_refusals_total").increment(1);
        return asked.refuse(Stopped::TooBusy);
    };
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_store_leaves_the_others_alone() {
        let bulkhead = Bulkhead::new(2, 1_024);
        let first = bulkhead.enter("hot").unwrap();
        let _second = bulkhead.enter("HOT").unwrap();
        assert!(bulkhead.enter("hot").is_none());
        assert!(bulkhead.enter("cool").is_some());
        drop(first);
        assert!(bulkhead.enter("hot").is_some());
    }

    #[test]
    fn empty_stores_take_no_room() {
        let bulkhead = Bulkhead::new(2, 1_024);
        drop(bulkhead.enter("gone"));
        assert!(bulkhead.taken.lock().unwrap().is_empty());
    }
}
