//! Idempotency keys: a repeated request is executed once and gets the same response.

use std::fmt::Display;

use database::Work;
use primitives::{Id, MerchantId, UserId};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::{IdempotencyError, table};

/// An idempotency key, scoped to one caller and one store.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// The nil id for a write that concerns no store; no transaction of a store sees such a key.
    pub merchant: MerchantId,
    /// Id of the caller that sent the key.
    pub caller: String,
    /// The key as the caller sent it.
    pub key: String,
    /// Hash of the request, which detects a different request under the same key.
    pub request_hash: Vec<u8>,
}

impl IdempotencyKey {
    /// Maximum length of a key.
    pub const LENGTH_MAX: usize = 255;

    /// Creates the key of a person's request that concerns no store, such as the creation of an agent key.
    pub fn of_account(
        person: UserId,
        key: &str,
        request: (&str, &impl Serialize),
    ) -> Result<Self, IdempotencyError> {
        Self::new(MerchantId::from_uuid(Uuid::nil()), &person, key, request)
    }

    /// Creates the key of a request with an operation name and arguments. The order of the arguments' fields does not
    /// matter.
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
        let arguments = arguments.map_err(|_| IdempotencyError::NotSerializable)?;
        let mut digest = Sha256::new();
        digest.update(name.as_bytes());
        // A separator that cannot occur in a name.
        digest.update([0]);
        digest.update(&arguments);
        let request_hash = digest.finalize().to_vec();
        Ok(Self { merchant, caller: caller.to_string(), key: key.to_owned(), request_hash })
    }
}

/// The result of claiming a key.
#[derive(Debug, PartialEq)]
pub enum Claim {
    /// The key is new: execute the request and call `record_response` in the same transaction.
    Fresh,
    /// The request was executed before, with this response.
    Replay(Value),
}

/// Claims a key for this transaction. A concurrent request with the same key waits until the first has committed or
/// rolled back.
pub async fn claim_key(work: &mut Work, key: &IdempotencyKey) -> Result<Claim, IdempotencyError> {
    if table::claim_key(work, key).await? {
        return Ok(Claim::Fresh);
    }
    let earlier = table::find_key(work, key).await?;
    match earlier {
        Some((hash, Some(response))) if hash == key.request_hash => Ok(Claim::Replay(response)),
        Some((hash, None)) if hash == key.request_hash => Ok(Claim::Replay(Value::Null)),
        _ => Err(IdempotencyError::Conflict),
    }
}

/// Stores the response with the key, in the transaction that executed the request.
pub async fn record_response(
    work: &mut Work,
    key: &IdempotencyKey,
    response: &Value,
) -> Result<(), IdempotencyError> {
    table::record_response(work, key, response).await?;
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
    fn equal_requests_have_equal_hashes() {
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
