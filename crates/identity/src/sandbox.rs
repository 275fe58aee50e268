//! Sandbox keys: issued to anonymous clients, for one store and one day.

use std::time::Duration;

use database::{DatabaseError, Work};
use primitives::{ClientAddress, MerchantId, Scope};

use crate::agent_key::{KeyProperties, create};
use crate::{AgentKey, IdentityError, IssuedKey, Secret, table};

/// Lifetime of a sandbox key.
const LIFETIME: Duration = Duration::from_hours(24);
/// Keys of one network that work at the same time (docs/contract/authentication.md#sandbox-key-limit).
pub const SANDBOX_KEYS_MAX: i64 = 50;

/// Issues a sandbox key, in a platform transaction. It has all scopes, for this store only. Beyond the limit of the network
/// its oldest key is revoked. The audit log, which is kept, has no entries of sandbox keys: anybody could fill it.
pub async fn issue_sandbox_key(
    work: &mut Work,
    secret: &Secret,
    store: MerchantId,
    from: ClientAddress,
) -> Result<(IssuedKey, AgentKey), IdentityError> {
    let network = secret.mac(&format!("sandbox key from {}", from.network()));
    table::sandbox::lock_network(work, &network).await?;
    table::sandbox::end_oldest(work, &network, SANDBOX_KEYS_MAX - 1).await?;
    let properties = KeyProperties {
        name: String::from("sandbox"),
        scopes: Scope::ALL.iter().copied().collect(),
        stores: Some(vec![store]),
        expires_at: Some(work.now().plus(LIFETIME)),
    };
    let issued = create(work, secret, None, properties).await?;
    table::sandbox::set_network(work, issued.1.key_id, &network).await?;
    Ok(issued)
}

/// Deletes expired sandbox keys, in a platform transaction.
pub async fn purge_sandbox_keys(work: &mut Work, limit: i64) -> Result<u64, DatabaseError> {
    Ok(table::sandbox::purge(work, limit).await?)
}
