//! Reading many products at once, for components that keep a copy, such as the search index.

use database::Reading;
use primitives::{MerchantId, ProductId};
use uuid::Uuid;

use crate::{CatalogError, Product, table};

/// Stores named in one statement; a page that spans more takes several statements.
const STORES_PER_STATEMENT: usize = 1_000;

/// Returns a page of the products of these stores that agents can see, with their variants, ordered by merchant and id:
/// at most `limit` products after `after`. An empty page is the end.
pub async fn products_after(
    reading: &Reading,
    merchants: &[MerchantId],
    after: Option<(MerchantId, ProductId)>,
    limit: i64,
) -> Result<Vec<(MerchantId, Product)>, CatalogError> {
    let first = after.map(|(merchant, _)| merchant.uuid());
    let mut stores: Vec<Uuid> = merchants.iter().map(|merchant| merchant.uuid()).collect();
    stores.retain(|store| first.is_none_or(|first| *store >= first));
    stores.sort_unstable();
    stores.dedup();
    let mut found = Vec::new();
    for stores in stores.chunks(STORES_PER_STATEMENT) {
        let left = limit.saturating_sub(i64::try_from(found.len()).unwrap_or(i64::MAX));
        if left <= 0 {
            break;
        }
        // The store in which the last page ended may no longer be among the given ones.
        let after = after.filter(|(merchant, _)| stores.first() == Some(&merchant.uuid()));
        let after = after.map(|(_, product)| product.uuid());
        let page: Result<Vec<_>, CatalogError> = reading
            .run(async |sql| Ok(table::products_after(sql, stores, after, left).await?))
            .await;
        found.extend(page?);
    }
    Ok(found)
}

/// Returns the products with these keys, with their variants, in the order of the keys. Products that agents cannot see
/// are left out.
pub async fn products_of(
    reading: &Reading,
    keys: &[(MerchantId, ProductId)],
) -> Result<Vec<(MerchantId, Product)>, CatalogError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let merchants: Vec<Uuid> = keys.iter().map(|(merchant, _)| merchant.uuid()).collect();
    let ids: Vec<Uuid> = keys.iter().map(|(_, product)| product.uuid()).collect();
    reading.run(async |sql| Ok(table::products_of(sql, &merchants, &ids).await?)).await
}
