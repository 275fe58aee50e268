//! Reading and replacing the settings of a store.

use database::{DatabaseError, Reading, Work};
use jobs::{NewEvent, QueueError};
use primitives::{Details, ErrorCode, MerchantId, Problem};
use serde_json::json;

use crate::{CurrentSettings, InvalidSetting, Promotion, Settings, Store, StoreError, table};

/// Returns the settings of a store; the defaults if none were ever stored.
pub async fn settings(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<CurrentSettings, SettingsError> {
    reading.run(async |sql| Ok(table::settings(sql, merchant).await?)).await
}

/// Returns the settings of a store as a transaction sees them.
pub async fn settings_now(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<Settings, SettingsError> {
    Ok(table::settings(work.sql(), merchant).await?.settings)
}

/// Returns a store and its settings as a transaction sees them.
pub async fn store_and_settings_now(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<(Store, Settings), SettingsError> {
    let store = crate::store_now(work, merchant).await?;
    let policies = store.policies.clone();
    let current = table::settings_with(work.sql(), merchant, policies).await?;
    Ok((store, current.settings))
}

/// Returns the promotions of a store that are active now.
pub async fn active_promotions(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Vec<Promotion>, SettingsError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let promotions = table::settings(sql, merchant).await?.settings.promotions;
            Ok(promotions.into_iter().filter(|promotion| promotion.is_active(now)).collect())
        })
        .await
}

/// Replaces the settings of a store and returns their version. If nothing differs, nothing is written and no event is
/// published. With `expected_version`, fails with `VersionConflict` unless it is the current version.
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
        return Err(SettingsError::VersionConflict { version: current.version });
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

/// An error of settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Invalid(#[from] InvalidSetting),
    #[error("the settings have changed; their version is now {version}")]
    VersionConflict {
        /// The current version.
        version: i64,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Queue(#[from] QueueError),
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
            // The only error code with status 409 that fits a version conflict.
            Self::VersionConflict { .. } => ErrorCode::InvalidStatusTransition,
            Self::Store(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Invalid(error) => {
                details.insert("field", error.field());
                details.insert("allowed", error.allowed());
            }
            Self::VersionConflict { version } => {
                details.insert("field", "version");
                details.insert("current_version", *version);
                details
                    .insert("hint", "read the settings again, apply the change to them and resend");
            }
            Self::Store(error) => error.details(details),
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Invalid(_) | Self::VersionConflict { .. } => false,
            Self::Store(error) => error.is_transient(),
            Self::Queue(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
        }
    }
}
