//! The quotas of a store: how much it may upload and store (docs/contract/merchant-api.md#quotas).

use database::{Reading, Work};
use merchants::Administration;
use primitives::MerchantId;
use schemars::JsonSchema;
use serde::Serialize;

use crate::table::{self, CatalogSize};
use crate::{CatalogError, FieldError, FieldErrorCode};

const GIB: i64 = 1 << 30;

/// Seconds after which it makes sense to try again, while an import occupies the quota.
const IMPORT_SECONDS: u64 = 60;

primitives::text_enum! {
    /// A quota of a store.
    #[derive(schemars::JsonSchema)]
    #[schemars(rename_all = "snake_case")]
    #[strum(serialize_all = "snake_case")]
    pub enum Quota {
        /// Bytes of feeds and of pushed products per day, in UTC.
        UploadBytesPerDay,
        /// Bytes of feeds that are stored because their runs have not ended.
        StoredFeedBytes,
        /// Feed runs that have not ended.
        OpenFeedRuns,
        /// Rows of one feed.
        FeedRows,
        /// Products, retired ones included.
        Products,
        /// Variants of all products.
        Variants,
    }
}

impl Quota {
    /// Returns the error of a product for which a store has no room.
    #[must_use]
    pub fn field_error(self) -> FieldError {
        let (field, reason) = match self {
            Self::Variants => (
                "variants",
                "the store has as many variants as its quota allows; nothing was written",
            ),
            _ => (
                "external_id",
                "the store has as many products as its quota allows; nothing was written",
            ),
        };
        FieldError::new(field, FieldErrorCode::QuotaExceeded, reason)
    }

    /// Returns the quota of a store for which no other one is set.
    #[must_use]
    pub const fn default_maximum(self) -> i64 {
        match self {
            Self::UploadBytesPerDay => 20 * GIB,
            Self::StoredFeedBytes => 8 * GIB,
            Self::OpenFeedRuns => 5,
            Self::Products => 2_000_000,
            Self::FeedRows | Self::Variants => 4_000_000,
        }
    }
}

/// A quota that an operation would exceed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaExceeded {
    pub quota: Quota,
    pub limit: i64,
    /// What the store uses now.
    pub used: i64,
    /// After how long the operation may succeed, in seconds.
    pub retry_after_seconds: u64,
}

impl QuotaExceeded {
    /// Returns what the merchant can do.
    pub(crate) const fn hint(self) -> &'static str {
        match self.quota {
            Quota::UploadBytesPerDay => {
                "the count starts again at midnight UTC; send only what changed, with PATCH /merchant/products, /prices or /inventory"
            }
            Quota::StoredFeedBytes | Quota::OpenFeedRuns => {
                "wait until an import of this store has ended; GET /merchant/jobs lists them"
            }
            Quota::FeedRows => "split the file into parts and import them with mode=merge",
            Quota::Products | Quota::Variants => {
                "ask the operator of the service for a higher quota"
            }
        }
    }
}

impl CatalogSize {
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            products: self.products.saturating_add(other.products),
            variants: self.variants.saturating_add(other.variants),
        }
    }

    /// Returns the quota that growth by `one` would exceed, if any. What does not grow exceeds nothing.
    pub(crate) const fn room_for(self, one: Self, maximum: Self) -> Result<(), Quota> {
        if one.products > 0 && self.products + one.products > maximum.products {
            return Err(Quota::Products);
        }
        if one.variants > 0 && self.variants + one.variants > maximum.variants {
            return Err(Quota::Variants);
        }
        Ok(())
    }
}

/// Uploads of a store at the time of a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UploadUsage {
    pub(crate) open_runs: i64,
    pub(crate) stored_bytes: i64,
    pub(crate) uploaded_today: i64,
}

/// Returns an error if the store may not begin an upload. Concurrent transactions of the store wait for this one.
pub(crate) async fn admit_upload(
    work: &mut Work,
    merchant: MerchantId,
    bytes: i64,
) -> Result<(), CatalogError> {
    let usage = table::lock_upload_usage(work, merchant).await?;
    for (quota, used, added) in [
        (Quota::OpenFeedRuns, usage.open_runs, 1),
        (Quota::StoredFeedBytes, usage.stored_bytes, bytes),
        (Quota::UploadBytesPerDay, usage.uploaded_today, bytes),
    ] {
        let limit = table::quota(work.sql(), merchant, quota).await?;
        if used.saturating_add(added) > limit {
            return Err(exceeded(work, quota, limit, used).into());
        }
    }
    Ok(())
}

/// Counts bytes that a store has sent today, or returns an error if they exceed the quota.
pub async fn count_upload(
    work: &mut Work,
    merchant: MerchantId,
    bytes: usize,
) -> Result<(), CatalogError> {
    let (quota, bytes) = (Quota::UploadBytesPerDay, i64::try_from(bytes).unwrap_or(i64::MAX));
    let limit = table::quota(work.sql(), merchant, quota).await?;
    if bytes <= limit && table::add_upload(work, merchant, bytes, limit).await? {
        return Ok(());
    }
    let used = table::lock_upload_usage(work, merchant).await?.uploaded_today;
    Err(exceeded(work, quota, limit, used).into())
}

/// Returns an error if the feeds of a store that are stored exceed its quota.
pub(crate) async fn check_stored(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<(), CatalogError> {
    let quota = Quota::StoredFeedBytes;
    let limit = table::quota(work.sql(), merchant, quota).await?;
    let used = table::stored_bytes(work, merchant).await?;
    if used > limit { Err(exceeded(work, quota, limit, used).into()) } else { Ok(()) }
}

fn exceeded(work: &Work, quota: Quota, limit: i64, used: i64) -> QuotaExceeded {
    let retry_after_seconds = match quota {
        Quota::UploadBytesPerDay => {
            let of_day = work.now().unix_seconds().rem_euclid(86_400);
            u64::try_from(86_400 - of_day).unwrap_or(86_400)
        }
        _ => IMPORT_SECONDS,
    };
    QuotaExceeded { quota, limit, used, retry_after_seconds }
}

/// The quota of a store, as operators see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QuotaRecord {
    /// What is limited.
    pub quota: Quota,
    /// The limit of this store.
    pub maximum: i64,
    /// False if an operator has set it.
    pub is_default: bool,
}

/// Returns all quotas of a store.
pub async fn quotas(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Vec<QuotaRecord>, CatalogError> {
    let set = reading
        .run(async |sql| -> Result<_, CatalogError> { Ok(table::quotas(sql, merchant).await?) })
        .await?;
    let record = |quota: &Quota| {
        let own = set.iter().find(|(name, _)| name == quota.as_str());
        QuotaRecord {
            quota: *quota,
            maximum: own.map_or(quota.default_maximum(), |(_, maximum)| *maximum),
            is_default: own.is_none(),
        }
    };
    Ok(Quota::ALL.iter().map(record).collect())
}

/// Sets a quota of a store, in a platform transaction; `None`: the default. Returns whether it differed.
pub async fn set_quota(
    work: &mut Work,
    merchant: MerchantId,
    quota: Quota,
    maximum: Option<i64>,
) -> Result<bool, CatalogError> {
    if maximum.is_some_and(|maximum| maximum < 0) {
        return Err(CatalogError::InvalidQuota);
    }
    Ok(table::put_quota(work, merchant, quota, maximum).await?)
}

/// Sets a quota of a store as an operator or an administrator, with an audit entry and a notice. Returns whether it differed.
pub async fn set_quota_by_operator(
    work: &mut Work,
    by: Administration<'_>,
    merchant: MerchantId,
    quota: Quota,
    maximum: Option<i64>,
) -> Result<bool, CatalogError> {
    merchants::store_now(work, merchant).await?;
    let differed = set_quota(work, merchant, quota, maximum).await?;
    if differed {
        let now = maximum.unwrap_or(quota.default_maximum());
        merchants::record_quota(work, by, merchant, quota.as_str(), now).await?;
    }
    Ok(differed)
}
