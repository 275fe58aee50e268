//! Idempotency keys of requests about endpoints: the response that is stored with a key is one id.

use std::str::FromStr;

use database::Work;
use jobs::{Claim, IdempotencyKey};
use primitives::{EndpointId, EventId};
use serde::Serialize;
use serde_json::json;

use crate::EndpointError;

/// What a request returns, as an id.
pub(crate) trait Claimed: Copy + Serialize + FromStr {
    /// The field of the stored response.
    const FIELD: &'static str;
}

impl Claimed for EndpointId {
    const FIELD: &'static str = "endpoint_id";
}

impl Claimed for EventId {
    const FIELD: &'static str = "event_id";
}

/// Claims the idempotency key for this work. Returns the id of the request that used it earlier.
pub(crate) async fn claimed_earlier<I: Claimed>(
    work: &mut Work,
    key: Option<&IdempotencyKey>,
) -> Result<Option<I>, EndpointError> {
    let Some(key) = key else { return Ok(None) };
    match jobs::claim_key(work, key).await? {
        Claim::Fresh => Ok(None),
        Claim::Replay(response) => {
            let id = response[I::FIELD].as_str().and_then(|id| id.parse().ok());
            Ok(Some(id.ok_or(EndpointError::NotFound)?))
        }
    }
}

/// Stores the id as the response of the idempotency key, in the work that claimed it. Secrets are never stored.
pub(crate) async fn record_claim<I: Claimed>(
    work: &mut Work,
    key: Option<&IdempotencyKey>,
    id: I,
) -> Result<(), EndpointError> {
    if let Some(key) = key {
        jobs::record_response(work, key, &json!({ (I::FIELD): id })).await?;
    }
    Ok(())
}
