//! Revocation of any key by an operator.

use database::Work;
use primitives::{KeyId, MerchantId, UserId};
use serde_json::json;

use crate::audit::{self, Actor, AuditAction, Reason};
use crate::{IdentityError, table};

/// Whose key was revoked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevokedKey {
    /// An agent key of this person; `None` for a sandbox key.
    Agent(Option<UserId>),
    /// A store key of this merchant.
    Store(MerchantId),
}

/// Revokes an agent key or a store key, in a platform transaction. Revoking it again changes nothing.
pub async fn revoke_key(
    work: &mut Work,
    actor: Actor,
    key: KeyId,
    reason: &Reason,
) -> Result<RevokedKey, IdentityError> {
    let reason = reason.as_str();
    if let Some((owner, worked)) = table::agent_key::revoke_any(work, key).await? {
        if worked {
            let details = json!({ "reason": reason });
            audit::record(work, actor, AuditAction::AgentKeyRevoked, &key, details).await?;
        }
        return Ok(RevokedKey::Agent(owner));
    }
    let merchant = table::store_key::owner(work, key).await?.ok_or(IdentityError::KeyNotFound)?;
    if table::store_key::revoke(work, merchant, key).await? == Some(true) {
        let details = json!({ "merchant": merchant, "reason": reason });
        audit::record(work, actor, AuditAction::StoreKeyRevoked, &key, details).await?;
    }
    Ok(RevokedKey::Store(merchant))
}
