//! The status of a store, and its profile.

use database::Work;
use primitives::{MerchantId, Timestamp};

use crate::{StoreProfile, StoreStatus};

/// Sets the status, and whether an owner decided it. Returns false if nothing differed, or if the store does not exist.
pub(crate) async fn set_status(
    work: &mut Work,
    merchant: MerchantId,
    status: StoreStatus,
    by_owner: bool,
) -> sqlx::Result<bool> {
    let now = work.now();
    let set = sqlx::query!(
        "UPDATE store SET status = $2, status_by_owner = $3, updated_at = $4
         WHERE merchant_id = $1 AND (status, status_by_owner) <> ($2, $3)",
        merchant as MerchantId,
        status.as_str(),
        by_owner,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(set.rows_affected() == 1)
}

pub(crate) async fn put_profile(
    work: &mut Work,
    merchant: MerchantId,
    profile: &StoreProfile,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE store SET name = $2, description = $3, website_url = $4, logo_url = $5, support_email = $6,
             support_url = $7, updated_at = $8
         WHERE merchant_id = $1",
        merchant as MerchantId,
        profile.name,
        profile.description,
        profile.website_url,
        profile.logo_url,
        profile.support_email,
        profile.support_url,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
