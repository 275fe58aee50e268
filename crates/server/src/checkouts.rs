//! `souk checkouts`: shows checkout sessions of any store, and releases the stock that one holds.

use checkout::CheckoutError;
use database::{Database, DatabaseError, Reading};
use identity::Actor;
use merchants::Administration;

use crate::cli::CheckoutsCommand;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CheckoutsError {
    #[error("{0}")]
    Checkout(#[from] CheckoutError),
    #[error("database failed: {0}")]
    Database(#[from] DatabaseError),
    #[error("the session could not be printed: {0}")]
    Print(#[from] serde_json::Error),
}

/// Runs a command and returns its output.
pub(crate) async fn run(
    database: &Database,
    command: CheckoutsCommand,
) -> Result<String, CheckoutsError> {
    database.refresh_directory().await?;
    match command {
        CheckoutsCommand::Show { checkout_id } => {
            let merchant = checkout::merchant_of(database, checkout_id).await?;
            let reading = Reading::for_store(database, merchant)?;
            let found = checkout::session(&reading, merchant, checkout_id, None).await?;
            let record = serde_json::to_string_pretty(&found.record_for_merchant())?;
            Ok(format!("{merchant}\n{record}"))
        }
        CheckoutsCommand::Release { checkout_id, reason } => {
            let by = Administration { actor: Actor::Operator, reason: &reason };
            let released = checkout::release_by_operator(database, by, checkout_id).await?;
            let status = released.session.status(released.now);
            Ok(format!("{checkout_id} is {status}; it holds no stock."))
        }
    }
}
