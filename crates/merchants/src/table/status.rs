//! The status of a store.

use database::Work;
use primitives::{MerchantId, Timestamp};

use crate::StoreStatus;

/// Sets the status. Returns false if the store had it before, or does not exist.
pub(crate) async fn set_status(
    work: &mut Work,
    merchant: MerchantId,
    status: StoreStatus,
) -> sqlx::Result<bool> {
    let now = work.now();
    let set = sqlx::query!(
        "UPDATE store SET status = $2, updated_at = $3 WHERE merchant_id = $1 AND status <> $2",
        merchant as MerchantId,
        status.as_str(),
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(set.rows_affected() == 1)
}
