//! A verb: importing accounts of agents that exist in records of the past alone, such as those of the demo data.

use database::Work;
use primitives::{KeyId, Timestamp, UserId};

use crate::{Email, IdentityError, table};

/// An account with one agent key that nobody can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastAgent {
    pub user: UserId,
    pub email: Email,
    pub key: KeyId,
    /// Name of the key.
    pub name: String,
    pub since: Timestamp,
}

/// Imports accounts and their keys, in a platform transaction. Those that exist stay as they are. The accounts are disabled, no
/// password is theirs, and no text is that of their keys: only records refer to them, so that the audit log has no entry.
pub async fn import_agents(work: &mut Work, agents: &[PastAgent]) -> Result<(), IdentityError> {
    table::import::insert_accounts(work, agents).await?;
    table::import::insert_keys(work, agents).await?;
    Ok(())
}
