//! What requests show: each is signed and names its event, and what is sent again is the same.

use std::collections::BTreeMap;

use serde_json::Value;
use souk_webhooks::{HEADER, Verifier};

use super::receiver::Request;
use crate::report::{Failure, ensure};

/// Requests of one event, in the order of their arrival.
pub(super) type Copies<'request> = Vec<&'request Request>;

/// Returns the requests of each event at the paths that begin with `path`.
pub(super) fn by_event<'request>(
    requests: &'request [Request],
    path: &str,
) -> BTreeMap<&'request str, Copies<'request>> {
    let mut events: BTreeMap<&str, Copies<'_>> = BTreeMap::new();
    for request in requests.iter().filter(|request| request.path.starts_with(path)) {
        events.entry(request.event()).or_default().push(request);
    }
    events
}

/// Fails unless a receiver with the secret accepts the request at the time of its arrival, and all headers name the event of the
/// body.
pub(crate) fn check_request(request: &Request, secret: &str) -> Result<(), Failure> {
    let verifier = Verifier::new([secret])?;
    let header = request.headers.get(HEADER).map(String::as_str);
    let outcome = verifier.verify_at(header, request.body.as_bytes(), request.at_seconds());
    let event = outcome.map_err(|error| format!("{error}: {request:?}"))?;
    let names_event = event.id == request.event();
    ensure(names_event, || format!("{} in the body, {} in the header", event.id, request.event()))?;
    let is_consistent = request.header("webhook-timestamp") == time_of(request);
    ensure(is_consistent, || format!("two times in one request: {request:?}"))
}

/// Fails unless all requests have the same id and the same bytes.
pub(super) fn check_copies(copies: &[&Request]) -> Result<(), Failure> {
    let Some(first) = copies.first() else { return Ok(()) };
    for copy in copies {
        let is_same = (copy.event(), &copy.body) == (first.event(), &first.body);
        ensure(is_same, || format!("{first:?} was sent again as {copy:?}"))?;
    }
    Ok(())
}

/// Returns the time in the signature of a request.
pub(super) fn time_of(request: &Request) -> &str {
    let mut items = request.header(HEADER).split(',');
    items.find_map(|item| item.trim().strip_prefix("t=")).unwrap_or("")
}

/// Returns the signatures of a request.
pub(super) fn signatures_of(request: &Request) -> Vec<&str> {
    let items = request.header(HEADER).split(',');
    items.filter_map(|item| item.trim().strip_prefix("v1=")).collect()
}

/// Returns the body of a request as JSON.
pub(crate) fn body_of(request: &Request) -> Result<Value, Failure> {
    Ok(serde_json::from_str(&request.body)?)
}
