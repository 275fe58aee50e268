//! The status of a store, and its profile.

use database::Work;
use primitives::{MerchantId, Timestamp};

use crate::StoreProfile;
use crate::store_status::Decisions;

/// Sets what owner and operator decided about a store. The row is locked.
pub(crate) async fn set_status(
    work: &mut Work,
    merchant: MerchantId,
    decisions: Decisions,
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "UPDATE store SET status = $2, status_by_owner = $3, owner_status = $4, updated_at = $5
         WHERE merchant_id = $1",
        merchant as MerchantId,
        decisions.status().as_str(),
        decisions.is_by_owner(),
        decisions.owner.as_str(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
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
