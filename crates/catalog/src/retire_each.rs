//! Retiring many products, each on its own.

use std::collections::HashMap;

use database::Work;
use primitives::{MerchantId, ProductId};

use crate::{CatalogError, Origin, retire, table};

/// What became of a product that was to be retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetireOutcome {
    Retired(ProductId),
    /// It was retired before.
    Unchanged(ProductId),
    /// The store has no product with this external id.
    NotFound,
}

/// Retires products, and returns what became of each, in the order of the ids. No two may be equal.
pub async fn retire_each(
    work: &mut Work,
    merchant: MerchantId,
    external_ids: &[String],
) -> Result<Vec<RetireOutcome>, CatalogError> {
    // No stored text contains NUL, and PostgreSQL rejects it as a parameter.
    let known: Vec<String> = external_ids.iter().filter(|id| !id.contains('\0')).cloned().collect();
    let existing = table::existing_products(work, merchant, &known).await?;
    let existing: HashMap<String, ProductId> =
        existing.into_iter().map(|product| (product.external_id, product.product_id)).collect();
    let retired = retire(work, merchant, Origin::Push, &known).await?;
    let outcome = |id: &String| match existing.get(id) {
        Some(id) if retired.contains(id) => RetireOutcome::Retired(*id),
        Some(id) => RetireOutcome::Unchanged(*id),
        None => RetireOutcome::NotFound,
    };
    Ok(external_ids.iter().map(outcome).collect())
}
