//! Reading and replacing what a merchant set.

use database::{DatabaseError, Reading, Work};
use jobs::{NewEvent, QueueError};
use primitives::{Details, ErrorCode, MerchantId, Problem};
use serde_json::json;

use crate::{CurrentSettings, Promotion, Settings, SettingsFault, StoreError, table};

/// The settings of a store; the defaults, if none were ever made.
pub async fn settings(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<CurrentSettings, SettingsError> {
    let mut snapshot = reading.open().await?;
    let current = table::settings(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    Ok(current)
}

/// The settings of a store in the moment of a work: for what must not rest on an earlier reading.
pub async fn settings_now(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<Settings, SettingsError> {
    Ok(table::settings(work.sql(), merchant).await?.settings)
}

/// What is cheaper at a store right now.
pub async fn running_promotions(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Vec<Promotion>, SettingsError> {
    let mut snapshot = reading.open().await?;
    let now = snapshot.now().await?;
    let current = table::settings(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    let promotions = current.settings.promotions.into_iter();
    Ok(promotions.filter(|promotion| promotion.is_running(now)).collect())
}

/// Replaces the settings of a store and answers their version. If nothing differs, nothing is
/// written and nobody is told. With `expected_version`, only what its caller had seen is replaced.
pub async fn put_settings(
    work: &mut Work,
    merchant: MerchantId,
    settings: &Settings,
    expected_version: Option<i64>,
) -> Result<i64, SettingsError> {
    settings.check()?;
    if !table::lock_store(work, merchant).await? {
        return Err(StoreError::NotFound.into());
    }
    let current = table::settings(work.sql(), merchant).await?;
    if expected_version.is_some_and(|version| version != current.version) {
        return Err(SettingsError::Moved { version: current.version });
    }
    if current.settings == *settings {
        return Ok(current.version);
    }
    let version = current.version + 1;
    table::put_policies(work, merchant, &settings.policies).await?;
    table::put_settings(work, merchant, settings, version).await?;
    let event = NewEvent {
        merchant,
        topic: "store.changed",
        subject: merchant.uuid(),
        payload: json!({ "settings_version": version }),
    };
    jobs::publish(work, &[event]).await?;
    Ok(version)
}

/// What can go wrong with settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A field holds what it may not hold.
    #[error(transparent)]
    Invalid(#[from] SettingsFault),
    /// Somebody else was quicker.
    #[error("the settings were changed by somebody else meanwhile")]
    Moved {
        /// The version in force.
        version: i64,
    },
    /// There is no such store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The outbox could not be told.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for SettingsError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for SettingsError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) => ErrorCode::InvalidRequest,
            // Of the frozen codes with 409 the one that says: not from the state things are in.
            Self::Moved { .. } => ErrorCode::InvalidStatusTransition,
            Self::Store(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Invalid(fault) => {
                details.insert("field", fault.field());
                details.insert("allowed", fault.allowed());
            }
            Self::Moved { version } => {
                details.insert("field", "version");
                details.insert("current_version", *version);
                details.insert("hint", "read the settings again and repeat your change on them");
            }
            Self::Store(error) => error.details(details),
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }
}
