//! Writing stores. `store.changed` is published only if something that agents see has changed: an equal score, a
//! synchronization or a new product count publishes nothing.

use database::Work;
use jobs::NewEvent;
use primitives::MerchantId;
use serde_json::json;
use uuid::Uuid;

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

/// A standing that differs from the former one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StandingChange {
    pub merchant: MerchantId,
    /// `None` if the store had none.
    pub former: Option<Standing>,
    pub standing: Standing,
}

/// Sets the standing of a store. Only `trust` calls this.
pub async fn set_standing(
    work: &mut Work,
    merchant: MerchantId,
    standing: &Standing,
) -> Result<(), StoreError> {
    set_standings(work, &[(merchant, *standing)]).await?;
    Ok(())
}

/// Locks the standings of stores until the work ends, in the order of their ids: who computes scores of a store at the same time
/// waits. A store that has none gets one without a score. Only `trust` calls this.
pub async fn lock_standings(work: &mut Work, stores: &[MerchantId]) -> Result<(), StoreError> {
    let merchants: Vec<Uuid> = stores.iter().map(|merchant| merchant.uuid()).collect();
    table::insert_missing_standings(work, &merchants).await?;
    table::lock_standings(work, &merchants).await?;
    Ok(())
}

/// Sets the standings of many stores, in a few statements, and returns those in which more than the time of computation
/// differs. A suspended store that has no score any more [stays suspended](Standing::replaced_by). No merchant is named twice.
/// Only `trust` calls this.
pub async fn set_standings(
    work: &mut Work,
    standings: &[(MerchantId, Standing)],
) -> Result<Vec<StandingChange>, StoreError> {
    let merchants: Vec<Uuid> = standings.iter().map(|(merchant, _)| merchant.uuid()).collect();
    let former = table::lock_standings(work, &merchants).await?;
    let replaced = |(merchant, new): &(MerchantId, Standing)| {
        (*merchant, former.get(merchant).map_or(*new, |former| former.replaced_by(*new)))
    };
    let standings: Vec<(MerchantId, Standing)> = standings.iter().map(replaced).collect();
    let change = |(merchant, standing): &(MerchantId, Standing)| {
        let former = former.get(merchant).copied();
        let is_equal = former.is_some_and(|former| {
            (former.score, former.provisional) == (standing.score, standing.provisional)
        });
        let change = StandingChange { merchant: *merchant, former, standing: *standing };
        (!is_equal).then_some(change)
    };
    let changes: Vec<StandingChange> = standings.iter().filter_map(change).collect();
    table::put_standings(work, &standings).await?;
    let events: Vec<NewEvent> = changes.iter().map(|it| store_changed(it.merchant)).collect();
    jobs::publish(work, &events).await?;
    Ok(changes)
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
        jobs::publish(work, &[store_changed(merchant)]).await?;
    }
    Ok(())
}

fn store_changed(merchant: MerchantId) -> NewEvent {
    let subject = merchant.uuid();
    NewEvent { merchant, topic: "store.changed", subject, payload: json!({}) }
}
