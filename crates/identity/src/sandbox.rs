//! Sandbox keys: issued to anonymous clients, for one store and one day.

use std::time::Duration;

use database::{DatabaseError, Work};
use primitives::{ClientAddress, MerchantId, Scope};
use serde_json::json;

use crate::agent_key::{KeyProperties, create};
use crate::audit::{self, Actor, AuditAction};
use crate::login::Allowance;
use crate::{AgentKey, IdentityError, IssuedKey, Secret, table};

/// Lifetime of a sandbox key.
const LIFETIME: Duration = Duration::from_hours(24);
/// Keys per network (docs/contract/authentication.md#sandbox-key-limit).
const OF_ADDRESS: Allowance = Allowance { attempts_max: 3, window: Duration::from_hours(24) };

/// Issues a sandbox key, in a platform transaction. It has all scopes, for this store only.
pub async fn issue_sandbox_key(
    work: &mut Work,
    secret: &Secret,
    store: MerchantId,
    from: ClientAddress,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let now = work.now();
    let subject = secret.mac(&format!("sandbox key from {}", from.network()));
    let start = OF_ADDRESS.window_start(now);
    if !table::login::count(work, &subject, start, OF_ADDRESS.attempts_max).await? {
        let reset_at = start.plus(OF_ADDRESS.window);
        let limit = u32::try_from(OF_ADDRESS.attempts_max).unwrap_or(0);
        let wait = reset_at.since(now);
        return Err(IdentityError::TooManySandboxKeys { limit, reset_at, wait });
    }
    let properties = KeyProperties {
        name: String::from("sandbox"),
        scopes: Scope::ALL.iter().copied().collect(),
        stores: Some(vec![store]),
        expires_at: Some(now.plus(LIFETIME)),
    };
    let issued = create(work, secret, None, properties).await?;
    let details = json!({ "sandbox": true, "store": store });
    audit::record(work, Actor::Anonymous, AuditAction::AgentKeyIssued, &issued.1.key_id, details)
        .await?;
    Ok(issued)
}

/// Deletes expired sandbox keys, in a platform transaction.
pub async fn purge_sandbox_keys(work: &mut Work, limit: i64) -> Result<u64, DatabaseError> {
    Ok(table::agent_key::purge_sandbox(work, limit).await?)
}
