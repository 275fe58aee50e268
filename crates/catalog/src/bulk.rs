//! Reading many products at once: for those who keep a copy, such as the search index.

use database::Reading;
use primitives::{MerchantId, ProductId};
use uuid::Uuid;

use crate::{CatalogError, Product, table};

/// Stores named in one statement; a page that reaches further takes several.
const STORES_PER_STATEMENT: usize = 1_000;

/// A page of all products agents can see of these stores, by merchant and id, with their variants:
/// those after `after`, at most `limit`. An empty page means that there are no more.
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
        // The store where the last page ended may be named no longer.
        let after = after.filter(|(merchant, _)| stores.first() == Some(&merchant.uuid()));
        let after = after.map(|(_, product)| product.uuid());
        let mut snapshot = reading.open().await?;
        found.extend(table::products_after(&mut snapshot, stores, after, left).await?);
        snapshot.close().await?;
    }
    Ok(found)
}

/// The products with these keys, with their variants, in the order asked for. What agents cannot see
/// is left out.
pub async fn products_of(
    reading: &Reading,
    keys: &[(MerchantId, ProductId)],
) -> Result<Vec<(MerchantId, Product)>, CatalogError> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let merchants: Vec<Uuid> = keys.iter().map(|(merchant, _)| merchant.uuid()).collect();
    let ids: Vec<Uuid> = keys.iter().map(|(_, product)| product.uuid()).collect();
    let mut snapshot = reading.open().await?;
    let found = table::products_of(&mut snapshot, &merchants, &ids).await?;
    snapshot.close().await?;
    Ok(found)
}
