//! Writing stores. `store.changed` is published only if something that agents see has changed: an equal score, a
//! synchronization or a new product count publishes nothing.

use database::Work;
use jobs::NewEvent;
use primitives::MerchantId;
use serde_json::json;

use crate::{Identity, NewStore, Policies, Standing, StoreError, table};

/// Creates or updates a store. Its slug is unique across all cells, so that `work` must be one of the platform.
pub async fn register(work: &mut Work, store: &NewStore) -> Result<(), StoreError> {
    if !table::claim_slug(work, store).await? {
        return Err(StoreError::SlugTaken);
    }
    let changed = table::put_store(work, store).await?;
    publish_if_changed(work, store.merchant, changed).await
}

/// Sets the policies of a store.
pub async fn set_policies(
    work: &mut Work,
    merchant: MerchantId,
    policies: &Policies,
) -> Result<(), StoreError> {
    let changed = table::put_policies(work, merchant, policies).await?;
    publish_if_changed(work, merchant, changed).await
}

/// Sets the standing of a store. Only `trust` calls this.
pub async fn set_standing(
    work: &mut Work,
    merchant: MerchantId,
    standing: &Standing,
) -> Result<(), StoreError> {
    let changed = table::put_standing(work, merchant, standing).await?;
    publish_if_changed(work, merchant, changed).await
}

/// Sets the result of a merchant's identity verification. For operators and verification providers, never the merchant.
pub async fn set_identity(
    work: &mut Work,
    merchant: MerchantId,
    identity: &Identity,
) -> Result<(), StoreError> {
    let changed = table::put_identity(work, merchant, identity).await?;
    publish_if_changed(work, merchant, changed).await
}

/// Records that a store's catalog was imported completely now.
pub async fn record_sync(work: &mut Work, merchant: MerchantId) -> Result<(), StoreError> {
    let now = work.now();
    Ok(table::put_sync(work, merchant, Some(now)).await?)
}

/// Sets the top-level categories and the product count of a store. Called by `catalog` after a change.
pub async fn set_catalog_summary(
    work: &mut Work,
    merchant: MerchantId,
    departments: &[String],
    product_count: i64,
) -> Result<(), StoreError> {
    Ok(table::set_catalog_summary(work, merchant, departments, product_count).await?)
}

pub(crate) async fn publish_if_changed(
    work: &mut Work,
    merchant: MerchantId,
    changed: bool,
) -> Result<(), StoreError> {
    if changed {
        let subject = merchant.uuid();
        let event = NewEvent { merchant, topic: "store.changed", subject, payload: json!({}) };
        jobs::publish(work, &[event]).await?;
    }
    Ok(())
}
