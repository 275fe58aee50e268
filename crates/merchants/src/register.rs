//! Writing about a store. Whoever keeps what agents see of it hears `store.changed`, and only if that
//! did change: a score that came out the same again, a synchronisation or a new count is no news.

use database::Work;
use jobs::NewEvent;
use primitives::MerchantId;
use serde_json::json;

use crate::{Identity, NewStore, Policies, Standing, StoreError, table};

/// Registers a store, or brings what is known of it up to date. Its slug is taken for the whole
/// network, hence a work for the platform.
pub async fn register(work: &mut Work, store: &NewStore) -> Result<(), StoreError> {
    if !table::take_slug(work, store).await? {
        return Err(StoreError::SlugTaken);
    }
    let changed = table::put_store(work, store).await?;
    tell(work, store.merchant, changed).await
}

/// Sets what a store promises.
pub async fn set_policies(
    work: &mut Work,
    merchant: MerchantId,
    policies: &Policies,
) -> Result<(), StoreError> {
    let changed = table::put_policies(work, merchant, policies).await?;
    tell(work, merchant, changed).await
}

/// Sets where a store stands. Only `trust` calls this.
pub async fn set_standing(
    work: &mut Work,
    merchant: MerchantId,
    standing: &Standing,
) -> Result<(), StoreError> {
    let changed = table::put_standing(work, merchant, standing).await?;
    tell(work, merchant, changed).await
}

/// Sets how the identity check of a merchant went. Operators and providers, never the merchant.
pub async fn set_identity(
    work: &mut Work,
    merchant: MerchantId,
    identity: &Identity,
) -> Result<(), StoreError> {
    let changed = table::put_identity(work, merchant, identity).await?;
    tell(work, merchant, changed).await
}

/// Notes that a store's catalog was brought in completely at this moment.
pub async fn note_sync(work: &mut Work, merchant: MerchantId) -> Result<(), StoreError> {
    let now = work.now();
    Ok(table::put_sync(work, merchant, Some(now)).await?)
}

/// Notes what the catalog of a store holds. The catalog calls this after it changed.
pub async fn describe_catalog(
    work: &mut Work,
    merchant: MerchantId,
    departments: &[String],
    product_count: i64,
) -> Result<(), StoreError> {
    Ok(table::describe_catalog(work, merchant, departments, product_count).await?)
}

async fn tell(work: &mut Work, merchant: MerchantId, changed: bool) -> Result<(), StoreError> {
    if changed {
        let subject = merchant.uuid();
        let event = NewEvent { merchant, topic: "store.changed", subject, payload: json!({}) };
        jobs::publish(work, &[event]).await?;
    }
    Ok(())
}
