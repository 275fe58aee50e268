//! `souk after-restore`: prepares a database that was restored from a backup.

use database::{Database, DatabaseError, Reading, Work};
use identity::{Actor, IdentityError, Secret};
use jobs::QueueError;
use search::IndexError;

/// Why the command failed. It can be run again.
#[derive(Debug, thiserror::Error)]
pub enum AfterRestoreError {
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
    #[error("restarting the outbox failed: {0}")]
    Outbox(#[from] QueueError),
    #[error("replacing the search index failed: {0}")]
    Index(#[from] IndexError),
    #[error("rotating the signing key failed: {0}")]
    SigningKey(#[from] IdentityError),
    #[error(
        "nothing shows that this database was restored from a backup of another cluster. On a running site the command ends \
         all sessions and empties the search index. After a restore, stop all processes and repeat it with --yes"
    )]
    NotRestored,
}

/// Repairs what a backup cannot restore, and returns what was done:
///
/// - Positions in the outbox are transaction ids of the cluster that was backed up. Another cluster assigns other ids, and
///   readers would miss events.
/// - The published search index has products of the time after the backup.
/// - Sessions that were ended after the backup would be valid again.
///
/// Without `yes` it refuses a database whose outbox does not show that it was restored. Sessions end first, because they
/// are what must not last.
pub(crate) async fn run(
    database: &Database,
    secret: &Secret,
    shards: u16,
    yes: bool,
) -> Result<String, AfterRestoreError> {
    database.refresh_directory().await?;
    if !yes && !jobs::outbox_is_ahead(&Reading::for_platform(database)).await? {
        return Err(AfterRestoreError::NotRestored);
    }
    let mut work = Work::for_platform(database).await?;
    let key = identity::rotate_signing_key(&mut work, secret, Actor::Operator, true).await?;
    work.commit().await?;
    let mut work = Work::for_platform(database).await?;
    let events = jobs::restart_outbox(&mut work).await?;
    work.commit().await?;
    let generation = search::start_over(database, shards).await?;
    Ok(format!(
        "Outbox: all readers start again, with {events} events.\n\
         Search index: generation {generation} is filled from the database by `souk index`.\n\
         Sessions: all have ended; new tokens are signed with {key}.\n\
         Keys that were revoked and accounts that were disabled after the backup are valid again: repeat those decisions.\n\
         Webhook endpoints and their secrets are those of the backup: merchants have to repeat what they changed since then.\n\
         Then start all processes, and run `souk doctor`."
    ))
}
