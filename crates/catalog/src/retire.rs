//! Retiring products: agents no longer see them.

use database::Work;
use jobs::NewEvent;
use primitives::{MerchantId, ProductId};
use serde_json::json;
use uuid::Uuid;

use crate::{CatalogError, Origin, table};

/// Retires products and returns those that were listed. A feed does not retire products that were pushed after it was
/// received.
pub async fn retire(
    work: &mut Work,
    merchant: MerchantId,
    origin: Origin,
    external_ids: &[String],
) -> Result<Vec<ProductId>, CatalogError> {
    let locked = table::lock_existing_products(work, merchant, external_ids).await?;
    let due = locked.iter().filter(|product| !origin.is_older_than(product.pushed_at));
    let ids: Vec<Uuid> = due.map(|product| product.product_id.uuid()).collect();
    let retired = table::retire_products(work, merchant, origin, &ids).await?;
    let event = |id: &ProductId| NewEvent {
        merchant,
        topic: "product.retired",
        subject: id.uuid(),
        payload: json!({ "product_id": id }),
    };
    jobs::publish(work, &retired.iter().map(event).collect::<Vec<_>>()).await?;
    Ok(retired)
}

/// Retires up to `limit` products whose external ids are not among these, and returns them. None is left if there are fewer.
pub async fn retire_others(
    work: &mut Work,
    merchant: MerchantId,
    external_ids: &[String],
    limit: i64,
) -> Result<Vec<ProductId>, CatalogError> {
    let others = table::other_external_ids(work, merchant, external_ids, limit).await?;
    retire(work, merchant, Origin::Push, &others).await
}
