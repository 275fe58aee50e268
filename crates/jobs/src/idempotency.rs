//! Idempotency keys: the same request twice is carried out once and answered twice.

use database::Work;
use primitives::MerchantId;
use serde_json::Value;

use crate::{IdempotencyError, table};

/// Whose key it is. Keys of different callers or stores never meet.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// The store the write is for.
    pub merchant: MerchantId,
    /// Who asks.
    pub caller: String,
    /// What the caller sent.
    pub key: String,
    /// A hash of the request, so that another request under the same key is noticed.
    pub request_hash: Vec<u8>,
}

/// What a key means.
#[derive(Debug, PartialEq)]
pub enum Claim {
    /// Never seen: carry it out, then `answer`, in this same work.
    Fresh,
    /// Carried out before: this was the answer.
    Replay(Value),
}

/// Claims a key for this work. A second request with the key waits here until the first has
/// committed or been undone.
pub async fn claim(work: &mut Work, key: &IdempotencyKey) -> Result<Claim, IdempotencyError> {
    if table::claim_key(work, key).await? {
        return Ok(Claim::Fresh);
    }
    let earlier = table::find_key(work, key).await?;
    match earlier {
        Some((hash, Some(answer))) if hash == key.request_hash => Ok(Claim::Replay(answer)),
        Some((hash, None)) if hash == key.request_hash => Ok(Claim::Replay(Value::Null)),
        _ => Err(IdempotencyError::Conflict),
    }
}

/// Keeps the answer beside the key, in the work that carried the request out.
pub async fn answer(
    work: &mut Work,
    key: &IdempotencyKey,
    answer: &Value,
) -> Result<(), IdempotencyError> {
    table::answer_key(work, key, answer).await?;
    Ok(())
}
