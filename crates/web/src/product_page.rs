//! The page of a product: what agents see of it.

use std::sync::Arc;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use catalog::{CatalogError, Condition, Product, Variant};
use database::Reading;
use merchants::Store;
use primitives::{ClientAddress, Failure, Money, ProductId, RequestId};

use crate::Web;
use crate::policy_view::PolicyView;
use crate::public_page::{ExternalLink, TrustView, admit, failure_page, page, store};
use crate::stock_view::stock_view;
use crate::terms_view::format_time;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/stores/{slug}/products/{product_id}", get(show))
}

#[derive(Template)]
#[template(path = "product.html")]
struct ProductPage<'found> {
    store: &'found Store,
    product: &'found Product,
    mcp_url: String,
    trust: TrustView,
    price: String,
    list_price: Option<String>,
    stock: &'static str,
    is_available: bool,
    /// Units in stock; `None` if there are none or the merchant states no quantity.
    units: Option<i32>,
    condition: &'static str,
    /// Average and count.
    rating: Option<(String, i32)>,
    paragraphs: Vec<&'found str>,
    image: Option<ImageView<'found>>,
    image_links: Vec<ExternalLink>,
    shop_page: Option<ExternalLink>,
    variants: Vec<VariantView>,
    policies: PolicyView,
    updated_at: String,
}

/// An image that Souk serves itself.
struct ImageView<'found> {
    url: &'found str,
    alt: &'found str,
}

struct VariantView {
    name: String,
    sku: String,
    price: String,
    list_price: Option<String>,
    stock: &'static str,
}

impl VariantView {
    fn of(variant: &Variant) -> Self {
        let facts = &variant.facts;
        Self {
            name: facts.name.clone(),
            sku: facts.sku.clone(),
            price: facts.price.to_string(),
            list_price: before(facts.list_price_minor, facts.price),
            stock: stock_view(facts.stock_status).0,
        }
    }
}

/// Formats the price before a reduction.
fn before(minor: Option<i64>, price: Money) -> Option<String> {
    minor.map(|minor| Money::new(minor, price.currency()).to_string())
}

impl<'found> ProductPage<'found> {
    fn new(store: &'found Store, product: &'found Product, site_url: &str) -> Self {
        let facts = &product.facts;
        let (stock, is_available) = stock_view(facts.stock_status);
        // All others are on hosts of merchants, and pages only link to them.
        let own = facts.images.iter().find(|image| image.url.starts_with(catalog::OWN_IMAGES));
        Self {
            store,
            product,
            mcp_url: format!("{site_url}/{}/mcp", store.slug),
            trust: TrustView::of(store),
            price: facts.price.to_string(),
            list_price: before(facts.list_price_minor, facts.price),
            stock,
            is_available,
            units: facts.stock_quantity.filter(|quantity| *quantity > 0 && is_available),
            condition: match facts.condition {
                Condition::New => "new",
                Condition::Refurbished => "refurbished",
                Condition::Used => "used",
            },
            rating: facts.rating.map(|rating| {
                (format!("{:.1}", f64::from(rating.hundredths) / 100.0), rating.count)
            }),
            paragraphs: facts.description.split('\n').filter(|it| !it.trim().is_empty()).collect(),
            image: own.map(|image| ImageView { url: &image.url, alt: &image.alt }),
            image_links: facts.images.iter().filter_map(|it| ExternalLink::new(&it.url)).collect(),
            shop_page: facts.url.as_deref().and_then(ExternalLink::new),
            variants: product.variants.iter().map(VariantView::of).collect(),
            policies: PolicyView::of(facts.policies.record(store), store.currency),
            updated_at: format_time(product.updated_at),
        }
    }
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    id: Option<Extension<RequestId>>,
    Path((slug, product_id)): Path<(String, String)>,
) -> Response {
    let found: Result<(Arc<Store>, Product), Failure> = async {
        let _permit = admit(&web, from).await?;
        let store = store(&web, &slug).await?;
        let product_id: ProductId =
            product_id.parse().map_err(|_| CatalogError::ProductNotFound)?;
        let reading = Reading::for_store(&web.database, store.merchant)?;
        let product = catalog::product(&reading, store.merchant, product_id).await?;
        Ok((store, product))
    }
    .await;
    match found {
        Ok((store, product)) => page(&ProductPage::new(&store, &product, &web.site_url)),
        Err(failure) => failure_page(&failure, id.as_deref()),
    }
}
