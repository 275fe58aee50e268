//! Bringing things in.

use database::Work;
use jobs::NewEvent;
use primitives::{MerchantId, ProductId, VariantId};
use serde_json::json;

use crate::{CatalogError, Category, NewProduct, NewVariant, table};

/// Brings a category in, or up to date.
pub async fn put_category(
    work: &mut Work,
    merchant: MerchantId,
    category: &Category,
) -> Result<(), CatalogError> {
    Ok(table::put_category(work, merchant, category).await?)
}

/// Brings a product in, or up to date, with all its variants. Answers whether anything changed; if
/// so, the outbox is told in this same work.
pub async fn put_product(
    work: &mut Work,
    merchant: MerchantId,
    id: ProductId,
    product: &NewProduct,
    variants: &[(VariantId, NewVariant)],
) -> Result<bool, CatalogError> {
    let mut changed = table::put_product(work, merchant, id, product).await?;
    for (place, (variant, facts)) in variants.iter().enumerate() {
        let place = i32::try_from(place).unwrap_or(i32::MAX);
        changed |= table::put_variant(work, merchant, id, *variant, place, facts).await?;
    }
    changed |= table::drop_other_variants(work, merchant, id, variants).await?;
    if changed {
        let event = NewEvent {
            merchant,
            topic: "product.changed",
            subject: id.uuid(),
            payload: json!({ "product_id": id }),
        };
        jobs::publish(work, &[event]).await?;
    }
    Ok(changed)
}

/// Tells the store what its catalog holds by now: its top categories and the number of products
/// agents can see.
pub async fn sum_up(work: &mut Work, merchant: MerchantId) -> Result<(), CatalogError> {
    let departments = table::departments(work, merchant).await?;
    let count = table::visible_count(work, merchant).await?;
    merchants::describe_catalog(work, merchant, &departments, count).await?;
    Ok(())
}
