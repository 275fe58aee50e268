//! Idempotency keys: the same request twice is carried out once and answered twice.

use std::fmt::Display;

use database::Work;
use primitives::MerchantId;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

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

impl IdempotencyKey {
    /// The longest text a caller may send.
    pub const LENGTH_MAX: usize = 255;

    /// The key of a request: what is asked for, by name, and with which arguments. The same arguments in another order
    /// are the same request.
    pub fn new(
        merchant: MerchantId,
        caller: &impl Display,
        key: &str,
        (name, arguments): (&str, &impl Serialize),
    ) -> Result<Self, IdempotencyError> {
        let is_printable = key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if key.is_empty() || key.len() > Self::LENGTH_MAX || !is_printable {
            return Err(IdempotencyError::InvalidKey);
        }
        let arguments = serde_json_canonicalizer::to_vec(arguments);
        let arguments = arguments.map_err(|_| IdempotencyError::Unreadable)?;
        let mut digest = Sha256::new();
        digest.update(name.as_bytes());
        // A name has no such byte, so that it cannot run over into the arguments.
        digest.update([0]);
        digest.update(&arguments);
        let request_hash = digest.finalize().to_vec();
        Ok(Self { merchant, caller: caller.to_string(), key: key.to_owned(), request_hash })
    }
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

#[cfg(test)]
mod tests {
    use primitives::Id;
    use serde_json::json;

    use super::*;

    fn key(text: &str, name: &str, arguments: &Value) -> Result<IdempotencyKey, IdempotencyError> {
        IdempotencyKey::new(MerchantId::from_random(1), &"key_1", text, (name, arguments))
    }

    #[test]
    fn the_same_request_has_the_same_hash_and_another_has_not() {
        let hash = |name, arguments| key("a", name, &arguments).unwrap().request_hash;
        let one = hash("create", json!({ "a": 1, "b": [1, 2] }));
        assert_eq!(one, hash("create", json!({ "b": [1.0, 2], "a": 1 })));
        assert_ne!(one, hash("create", json!({ "b": [2, 1], "a": 1 })));
        assert_ne!(one, hash("change", json!({ "a": 1, "b": [1, 2] })));
    }

    #[test]
    fn a_key_is_short_and_printable() {
        assert!(key(&"x".repeat(255), "create", &json!({})).is_ok());
        for wrong in ["", "a\nb", "é", &"x".repeat(256)] {
            let refused = key(wrong, "create", &json!({}));
            assert!(matches!(refused, Err(IdempotencyError::InvalidKey)), "{wrong}");
        }
    }
}
