//! Reading many products at once, for components that keep a copy, such as the search index.
//!
//! A product that cannot be read is logged, counted and left out: it hides no other product.

use database::Reading;
use primitives::{MerchantId, ProductId};
use uuid::Uuid;

use crate::sale::set_current_prices;
use crate::{CatalogError, Product, table};

/// Stores named in one statement; a page that spans more takes several statements.
const STORES_PER_STATEMENT: usize = 1_000;

/// The store and the id of a product.
pub type ProductKey = (MerchantId, ProductId);

/// Products as far as they can be read.
#[derive(Debug, Default)]
pub struct ProductsRead {
    pub products: Vec<(MerchantId, Product)>,
    /// Products that this version cannot read. A caller that keeps a copy tries again later.
    pub unreadable: Vec<ProductKey>,
    /// The last product of a page, readable or not; `None` if the page is empty.
    pub last: Option<ProductKey>,
}

impl ProductsRead {
    fn of(products: Vec<(MerchantId, Product)>) -> Self {
        let last = products.last().map(|(merchant, product)| (*merchant, product.id));
        Self { products, unreadable: Vec::new(), last }
    }

    fn extend(&mut self, other: Self) {
        self.products.extend(other.products);
        self.unreadable.extend(other.unreadable);
        self.last = other.last.or(self.last);
    }
}

/// Returns a page of the products of these stores that agents can see, with their variants, ordered by merchant and id:
/// at most `limit` products after `after`. An empty page is the end.
pub async fn products_after(
    reading: &Reading,
    merchants: &[MerchantId],
    after: Option<ProductKey>,
    limit: i64,
) -> Result<ProductsRead, CatalogError> {
    let first = after.map(|(merchant, _)| merchant.uuid());
    let mut stores: Vec<Uuid> = merchants.iter().map(|merchant| merchant.uuid()).collect();
    stores.retain(|store| first.is_none_or(|first| *store >= first));
    stores.sort_unstable();
    stores.dedup();
    let mut read = ProductsRead::default();
    for stores in stores.chunks(STORES_PER_STATEMENT) {
        let found = read.products.len() + read.unreadable.len();
        let left = limit.saturating_sub(i64::try_from(found).unwrap_or(i64::MAX));
        if left <= 0 {
            break;
        }
        // The store in which the last page ended may no longer be among the given ones.
        let after = after.filter(|(merchant, _)| stores.first() == Some(&merchant.uuid()));
        let after = after.map(|(_, product)| product.uuid());
        read.extend(page(reading, stores, after, left).await?);
    }
    Ok(read)
}

/// Returns a page of products of stores; one by one, if some cannot be read.
async fn page(
    reading: &Reading,
    stores: &[Uuid],
    after: Option<Uuid>,
    limit: i64,
) -> Result<ProductsRead, CatalogError> {
    let page: Result<Vec<_>, CatalogError> = reading
        .run(async |sql| {
            let mut found = table::products_after(sql, stores, after, limit).await?;
            set_current_prices(sql, found.iter_mut().map(|(_, product)| product)).await?;
            Ok(found)
        })
        .await;
    match page {
        Ok(products) => Ok(ProductsRead::of(products)),
        Err(error) if error.is_unreadable() => {
            let keys: Result<Vec<_>, CatalogError> = reading
                .run(async |sql| Ok(table::keys_after(sql, stores, after, limit).await?))
                .await;
            let keys = keys?;
            let read = read_products(reading, &keys).await?;
            Ok(ProductsRead { last: keys.last().copied(), ..read })
        }
        Err(error) => Err(error),
    }
}

/// Returns the keys of a page of the products of a store that agents can see, ordered by id: at most `limit` keys after
/// `after`. An empty page is the end.
pub async fn product_keys_after(
    reading: &Reading,
    merchant: MerchantId,
    after: Option<ProductId>,
    limit: i64,
) -> Result<Vec<ProductKey>, CatalogError> {
    let (stores, after) = ([merchant.uuid()], after.map(ProductId::uuid));
    reading.run(async |sql| Ok(table::keys_after(sql, &stores, after, limit).await?)).await
}

/// Returns the products with these keys, with their variants, each once, in the order of the keys. Products that agents
/// cannot see, and products that cannot be read, are left out.
pub async fn products_of(
    reading: &Reading,
    keys: &[ProductKey],
) -> Result<Vec<(MerchantId, Product)>, CatalogError> {
    Ok(read_products(reading, keys).await?.products)
}

/// Like [`products_of`], and returns which products cannot be read. They are found by halving.
pub async fn read_products(
    reading: &Reading,
    keys: &[ProductKey],
) -> Result<ProductsRead, CatalogError> {
    let mut read = ProductsRead::default();
    let mut parts = vec![keys];
    while let Some(part) = parts.pop() {
        if part.is_empty() {
            continue;
        }
        let found: Result<Vec<_>, CatalogError> = reading
            .run(async |sql| {
                let mut found = table::products_of(sql, part).await?;
                set_current_prices(sql, found.iter_mut().map(|(_, product)| product)).await?;
                Ok(found)
            })
            .await;
        match (found, part) {
            (Ok(products), _) => read.extend(ProductsRead::of(products)),
            (Err(error), _) if !error.is_unreadable() => return Err(error),
            (Err(error), [(merchant, product)]) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%merchant, %product, cause, "a product cannot be read; the others are");
                metrics::counter!("souk_catalog_unreadable_total").increment(1);
                read.unreadable.push((*merchant, *product));
            }
            (Err(_), part) => {
                let (first, second) = part.split_at(part.len() / 2);
                parts.extend([second, first]);
            }
        }
    }
    Ok(read)
}
