//! Keys to play with: anybody may have one, for a day and for one store.

use std::time::Duration;

use database::{DatabaseError, Work};
use primitives::{ClientAddress, MerchantId, Scope};
use serde_json::json;

use crate::agent_key::{AgentKeyFacts, make};
use crate::audit::{self, Act, Actor};
use crate::login::Allowance;
use crate::{AgentKey, IdentityError, IssuedKey, Secret, table};

/// How long a key works.
const LIFE: Duration = Duration::from_hours(24);
/// Keys of one address within a day (decisions §5).
const OF_ADDRESS: Allowance = Allowance { attempts_max: 3, window: Duration::from_hours(24) };

/// Makes a key that is nobody's, in a work for the platform. It has every scope, at this store alone.
pub async fn issue_sandbox_key(
    work: &mut Work,
    secret: &Secret,
    store: MerchantId,
    from: ClientAddress,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let now = work.now();
    let subject = secret.mac(&format!("sandbox key from {}", from.line()));
    let start = OF_ADDRESS.window_start(now);
    if !table::login::take(work, &subject, start, OF_ADDRESS.attempts_max).await? {
        let reset_at = start.plus(OF_ADDRESS.window);
        let limit = u32::try_from(OF_ADDRESS.attempts_max).unwrap_or(0);
        let wait = reset_at.since(now);
        return Err(IdentityError::TooManySandboxKeys { limit, reset_at, wait });
    }
    let facts = AgentKeyFacts {
        name: String::from("sandbox"),
        scopes: Scope::ALL.into(),
        stores: Some(vec![store]),
        expires_at: Some(now.plus(LIFE)),
    };
    let made = make(work, secret, None, facts).await?;
    let details = json!({ "sandbox": true, "store": store });
    audit::record(work, Actor::Anybody, Act::AgentKeyIssued, &made.1.key_id, details).await?;
    Ok(made)
}

/// Removes sandbox keys that have ended, in a work for the platform.
pub async fn forget_sandbox_keys(work: &mut Work) -> Result<u64, DatabaseError> {
    Ok(table::agent_key::forget_sandbox(work).await?)
}
