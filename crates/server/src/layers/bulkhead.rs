//! Limits concurrent requests per store, so that one overloaded store does not affect the others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use super::{ErrorResponder, LayerError};

/// Counts the requests in flight of each store. A store without requests has no entry, so the map is
/// never larger than the number of requests in flight.
#[derive(Debug, Clone)]
pub(crate) struct Bulkhead {
    permits_per_store: usize,
    body_bytes_max: usize,
    in_flight: Arc<Mutex<HashMap<String, usize>>>,
}

/// A permit for one request, released when dropped, which includes a client disconnect.
#[derive(Debug)]
struct Permit {
    bulkhead: Bulkhead,
    slug: String,
}

impl Bulkhead {
    pub(crate) fn new(permits_per_store: usize, body_bytes_max: usize) -> Self {
        Self { permits_per_store, body_bytes_max, in_flight: Arc::default() }
    }

    fn try_acquire(&self, slug: &str) -> Option<Permit> {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        let count = in_flight.entry(slug.to_ascii_lowercase()).or_insert(0);
        if *count >= self.permits_per_store {
            return None;
        }
        *count += 1;
        Some(Permit { bulkhead: self.clone(), slug: slug.to_ascii_lowercase() })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut in_flight = self.bulkhead.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = in_flight.get_mut(&self.slug) {
            *count -= 1;
            if *count == 0 {
                in_flight.remove(&self.slug);
            }
        }
    }
}

/// Refuses a request for a store that has reached its limit.
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
    // The body is read before a permit is acquired, so that slow clients hold none.
    let responder = ErrorResponder::new(&request);
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, bulkhead.body_bytes_max).await else {
        let bytes_max = bulkhead.body_bytes_max.try_into().unwrap_or(u64::MAX);
        return responder.respond(LayerError::BodyTooLarge(bytes_max));
    };
    let request = Request::from_parts(parts, Body::from(body));
    let Some(_permit) = bulkhead.try_acquire(&slug) else {
        metrics::counter!("souk_bulkhead_refusals_total").increment(1);
        return responder.respond(LayerError::StoreOverloaded);
    };
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_store_does_not_affect_others() {
        let bulkhead = Bulkhead::new(2, 1_024);
        let first = bulkhead.try_acquire("hot").unwrap();
        let _second = bulkhead.try_acquire("HOT").unwrap();
        assert!(bulkhead.try_acquire("hot").is_none());
        assert!(bulkhead.try_acquire("cool").is_some());
        drop(first);
        assert!(bulkhead.try_acquire("hot").is_some());
    }

    #[test]
    fn a_store_without_requests_has_no_entry() {
        let bulkhead = Bulkhead::new(2, 1_024);
        drop(bulkhead.try_acquire("gone"));
        assert!(bulkhead.in_flight.lock().unwrap().is_empty());
    }
}
