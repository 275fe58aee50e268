//! Writing about a store.

use database::Work;
use primitives::MerchantId;

use crate::{Identity, NewStore, Policies, Standing, StoreError, table};

/// Registers a store, or brings what is known of it up to date. Its slug is taken for the whole
/// network, hence a work for the platform.
pub async fn register(work: &mut Work, store: &NewStore) -> Result<(), StoreError> {
    if !table::take_slug(work, store).await? {
        return Err(StoreError::SlugTaken);
    }
    table::put_store(work, store).await?;
    Ok(())
}

/// Sets what a store promises.
pub async fn set_policies(
    work: &mut Work,
    merchant: MerchantId,
    policies: &Policies,
) -> Result<(), StoreError> {
    Ok(table::put_policies(work, merchant, policies).await?)
}

/// Sets where a store stands. Only `trust` calls this.
pub async fn set_standing(
    work: &mut Work,
    merchant: MerchantId,
    standing: &Standing,
) -> Result<(), StoreError> {
    Ok(table::put_standing(work, merchant, standing).await?)
}

/// Sets how the identity check of a merchant went. Operators and providers, never the merchant.
pub async fn set_identity(
    work: &mut Work,
    merchant: MerchantId,
    identity: &Identity,
) -> Result<(), StoreError> {
    Ok(table::put_identity(work, merchant, identity).await?)
}

/// Notes that a store's catalog was brought in completely at this moment.
pub async fn note_sync(work: &mut Work, merchant: MerchantId) -> Result<(), StoreError> {
    Ok(table::note_sync(work, merchant).await?)
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
