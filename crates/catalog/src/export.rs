//! The export of a catalog: stored products as drafts, which an import reads back unchanged.

use database::Reading;
use primitives::{Currency, MerchantId, Money, Timestamp};

use crate::category::slug;
use crate::{
    Amount, CatalogError, FeedFormat, ImageDraft, PolicyDraft, ProductDraft, ProductFacts,
    ProductPolicies, Rating, RatingDraft, Review, ReviewDraft, Sale, StoredProduct, Variant,
    VariantDraft, table,
};

/// Writes products as a feed. `connectors` implements it.
pub type WriteFeed = fn(FeedFormat, &[ProductDraft], Currency) -> Vec<u8>;

/// Products of a page of an export, at most.
const PAGE: i64 = 200;
/// Bytes of a page, at most: a page with one product may be larger. A page is in memory several times.
const PAGE_BYTES: i64 = 1024 * 1024;

/// A page of an export.
#[derive(Debug)]
pub struct ExportPage {
    /// In the order of their external ids.
    pub products: Vec<StoredProduct>,
    /// Where the next page begins; `None` on the last page.
    pub last: Option<String>,
}

/// Returns the products of a store that are not retired, after this external id. Pages are limited by the number of their
/// products and by their size. Each page is read in a transaction of its own. A product that cannot be read is logged, counted and left out.
pub async fn export_page(
    reading: &Reading,
    merchant: MerchantId,
    after: &str,
) -> Result<ExportPage, CatalogError> {
    let listed: Result<Vec<(String, i64)>, CatalogError> =
        reading.run(async |sql| Ok(table::listed_after(sql, merchant, after, PAGE).await?)).await;
    let listed = listed?;
    let found = listed.len();
    let ids = within_bytes(listed);
    let is_cut = ids.len() < found || i64::try_from(found).is_ok_and(|count| count >= PAGE);
    let last = ids.last().filter(|_| is_cut).cloned();
    let page = stored(reading, merchant, &ids).await;
    let products = match page {
        Err(error) if error.is_unreadable() => one_by_one(reading, merchant, &ids).await?,
        page => page?,
    };
    // A product that was retired since its id was read is not exported either.
    let products = products.into_iter().filter(|stored| stored.retired_at.is_none()).collect();
    Ok(ExportPage { products, last })
}

/// Returns the first products that fit on a page, at least one.
fn within_bytes(listed: Vec<(String, i64)>) -> Vec<String> {
    let mut bytes = 0_i64;
    let fits = |(index, (_, size)): &(usize, (String, i64))| {
        bytes = bytes.saturating_add(*size);
        *index == 0 || bytes <= PAGE_BYTES
    };
    listed.into_iter().enumerate().take_while(fits).map(|(_, (id, _))| id).collect()
}

async fn stored(
    reading: &Reading,
    merchant: MerchantId,
    ids: &[String],
) -> Result<Vec<StoredProduct>, CatalogError> {
    reading
        .run(async |sql| {
            let products = table::products_in_any_state(sql, merchant, ids).await?;
            Ok(table::stored_products(sql, merchant, products).await?)
        })
        .await
}

async fn one_by_one(
    reading: &Reading,
    merchant: MerchantId,
    ids: &[String],
) -> Result<Vec<StoredProduct>, CatalogError> {
    let mut products = Vec::with_capacity(ids.len());
    for id in ids {
        match stored(reading, merchant, std::slice::from_ref(id)).await {
            Ok(found) => products.extend(found),
            Err(error) if error.is_unreadable() => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::error!(%merchant, cause, "a product cannot be read; the others are exported");
                metrics::counter!("souk_catalog_unreadable_total").increment(1);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(products)
}

impl StoredProduct {
    /// Returns the product as its merchant would send it. Price and stock of a product with variants are those of its variants.
    #[must_use]
    pub fn draft(&self) -> ProductDraft {
        let (product, facts) = (&self.product, &self.product.facts);
        let mut draft = ProductDraft {
            external_id: facts.external_id.clone(),
            sku: Some(facts.sku.clone()),
            name: Some(facts.name.clone()),
            description: non_empty(&facts.description),
            brand: non_empty(&facts.brand),
            gtin: facts.gtin.clone(),
            mpn: facts.mpn.clone(),
            url: facts.url.clone(),
            category: self.category(),
            condition: Some(facts.condition.as_str().to_owned()),
            currency: Some(facts.price.currency().code().to_owned()),
            images: images(facts),
            attributes: facts.attributes.clone(),
            rating: facts.rating.map(rating),
            reviews: self.reviews.iter().map(review).collect(),
            policies: policies(facts.policies),
            variants: product.variants.iter().map(variant).collect(),
            listed_at: Some(product.listed_at.to_string()),
            ..ProductDraft::default()
        };
        if product.variants.is_empty() {
            let prices = SentPrices::of(facts.price, facts.list_price_minor, facts.sale);
            draft.price = Some(prices.price);
            draft.list_price = prices.list_price;
            draft.sale_price = prices.sale_price;
            draft.sale_starts_at = prices.sale_starts_at;
            draft.sale_ends_at = prices.sale_ends_at;
            draft.stock_status = Some(facts.stock_status.as_str().to_owned());
            draft.stock_quantity = facts.stock_quantity.map(i64::from);
        }
        draft
    }

    /// Returns the category as a list of names that an import turns into the same path: where a name leads to another
    /// path, the part of the path itself.
    fn category(&self) -> Vec<String> {
        let parts = self.product.category.path.split('/').zip(&self.category_names);
        let name = |(part, name): (&str, &String)| {
            if slug(name) == part { name.clone() } else { part.to_owned() }
        };
        parts.map(name).collect()
    }
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Prices as a merchant sends them: those outside of a sale, and the sale.
struct SentPrices {
    price: Amount,
    list_price: Option<Amount>,
    sale_price: Option<Amount>,
    sale_starts_at: Option<String>,
    sale_ends_at: Option<String>,
}

impl SentPrices {
    /// `price` and `list_price_minor` are those that apply now.
    fn of(price: Money, list_price_minor: Option<i64>, sale: Option<Sale>) -> Self {
        let amount =
            |minor: i64| Amount::new(Money::new(minor, price.currency()).to_decimal_text());
        let regular = sale.map(|sale| (sale.regular_price_minor, sale.regular_list_price_minor));
        let (price_minor, list_price_minor) = regular.unwrap_or((price.minor(), list_price_minor));
        let time = |time: Timestamp| time.to_string();
        Self {
            price: amount(price_minor),
            list_price: list_price_minor.map(amount),
            sale_price: sale.map(|sale| amount(sale.price_minor)),
            sale_starts_at: sale.and_then(|sale| sale.starts_at).map(time),
            sale_ends_at: sale.and_then(|sale| sale.ends_at).map(time),
        }
    }
}

fn images(facts: &ProductFacts) -> Vec<ImageDraft> {
    let image =
        |image: &crate::Image| ImageDraft { url: image.url.clone(), alt: non_empty(&image.alt) };
    facts.images.iter().map(image).collect()
}

impl ProductDraft {
    /// Makes the URLs of images that Souk serves absolute, for other services. `site_url` is the public URL of this one.
    #[must_use]
    pub fn with_absolute_images(mut self, site_url: &str) -> Self {
        let of_variants = self.variants.iter_mut().filter_map(|variant| variant.image.as_mut());
        let urls = self.images.iter_mut().map(|image| &mut image.url).chain(of_variants);
        for url in urls.filter(|url| url.starts_with('/')) {
            url.insert_str(0, site_url);
        }
        self
    }
}

fn rating(rating: Rating) -> RatingDraft {
    let average = format!("{}.{:02}", rating.hundredths / 100, rating.hundredths % 100);
    RatingDraft { average: Amount::new(average), count: i64::from(rating.count) }
}

fn review(review: &Review) -> ReviewDraft {
    ReviewDraft {
        external_id: review.external_id.clone(),
        stars: i64::from(review.stars),
        title: non_empty(&review.title),
        text: non_empty(&review.text),
        author: non_empty(&review.author),
        written_at: review.written_at.to_string(),
    }
}

fn policies(policies: ProductPolicies) -> Option<PolicyDraft> {
    let shipping_days = policies.shipping_days;
    (policies != ProductPolicies::default()).then(|| PolicyDraft {
        return_window_days: policies.return_window_days.map(i64::from),
        shipping_days_min: shipping_days.map(|(least, _)| i64::from(least)),
        shipping_days_max: shipping_days.map(|(_, most)| i64::from(most)),
        warranty_months: policies.warranty_months.map(i64::from),
    })
}

fn variant(variant: &Variant) -> VariantDraft {
    let facts = &variant.facts;
    let prices = SentPrices::of(facts.price, facts.list_price_minor, facts.sale);
    VariantDraft {
        sku: facts.sku.clone(),
        name: Some(facts.name.clone()),
        gtin: facts.gtin.clone(),
        options: facts.options.clone(),
        price: Some(prices.price),
        list_price: prices.list_price,
        sale_price: prices.sale_price,
        sale_starts_at: prices.sale_starts_at,
        sale_ends_at: prices.sale_ends_at,
        stock_status: Some(facts.stock_status.as_str().to_owned()),
        stock_quantity: facts.stock_quantity.map(i64::from),
        image: facts.image.clone(),
    }
}
