//! Reading.

use database::Reading;
use primitives::{MerchantId, ProductId};

use crate::category::{CategoryNode, tree};
use crate::{CatalogError, Product, table};

/// A product with its variants, if agents may see it.
pub async fn product(
    reading: &Reading,
    merchant: MerchantId,
    id: ProductId,
) -> Result<Product, CatalogError> {
    let mut snapshot = reading.open().await?;
    let found = table::product(&mut snapshot, merchant, id).await?;
    snapshot.close().await?;
    let visible = found.filter(|product| product.facts.price.currency().is_supported());
    visible.ok_or(CatalogError::ProductNotFound)
}

/// The store's tree, or the part below a path. Counts are of products agents can see.
pub async fn categories(
    reading: &Reading,
    merchant: MerchantId,
    below: Option<&str>,
) -> Result<Vec<CategoryNode>, CatalogError> {
    let mut snapshot = reading.open().await?;
    let places = table::categories(&mut snapshot, merchant).await?;
    snapshot.close().await?;
    let roots = tree(places);
    let Some(path) = below else { return Ok(roots) };
    let allowed = roots.iter().map(|node| node.category.path.clone()).collect();
    let found = find(roots, path).ok_or(CatalogError::CategoryNotFound { allowed })?;
    Ok(found.children)
}

/// The node of a path or an id.
fn find(nodes: Vec<CategoryNode>, wanted: &str) -> Option<CategoryNode> {
    for node in nodes {
        if node.category.path == wanted || node.category.id.to_string() == wanted {
            return Some(node);
        }
        if let Some(found) = find(node.children, wanted) {
            return Some(found);
        }
    }
    None
}
