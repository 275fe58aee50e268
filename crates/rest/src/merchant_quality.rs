//! Data quality of a merchant's catalog, and the products with defects.

use std::sync::Arc;

use axum::extract::State;
use catalog::{Defect, DefectiveProduct};
use database::Reading;
use identity::StoreScope;
use primitives::{PageMeta, PageRequest, ProductId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Query, Rest, RestState, Routes, StoreCaller,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let quality = Endpoint::get("/merchant/quality", Access::Store(StoreScope::Catalog), quality)
        .operation_id("getQuality")
        .tag("merchant")
        .summary("Get catalog quality")
        .description(
            "Returns completeness, consistency and freshness, which are components of the trust score, and the \
             products with defects. The counts follow a change after some seconds; the list of products is current.",
        )
        .query::<QualityParameters>()
        .response::<Envelope<QualityResult>>(200);
    Routes::new().with(quality)
}

/// Filter and page of the products.
#[derive(Debug, Deserialize, JsonSchema)]
struct QualityParameters {
    /// Only products with this defect.
    defect: Option<Defect>,
    /// Page number, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Products per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// Quality of the catalog and products with defects.
#[derive(Debug, Serialize, JsonSchema)]
struct QualityResult {
    /// Fraction of products with name, price, image and GTIN; null without products.
    catalog_completeness: Option<f64>,
    /// Fraction of products without contradictory data; null without products.
    data_consistency: Option<f64>,
    /// 1 up to a day after the last complete synchronization, or after 95 % of the products were pushed, whichever is later;
    /// falling to 0 after a week.
    catalog_freshness: f64,
    /// Time of the last complete synchronization; omitted if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sync_at: Option<Timestamp>,
    /// Whether a feed is being applied now.
    updating: bool,
    /// Whether the catalog mixes old and new data, because a feed is being applied or failed part-way.
    partial: bool,
    /// Defects by kind; omitted until the catalog is first measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
    /// Products with defects, by identifier.
    failing: Vec<FailingProduct>,
    /// The page and the total number of products with defects.
    meta: PageMeta,
}

/// Number of products by defect.
#[derive(Debug, Serialize, JsonSchema)]
struct Counted {
    /// Listed products.
    products: i64,
    /// Products without a price above zero.
    missing_price: i64,
    /// Products without an image.
    missing_image: i64,
    /// Products without a GTIN of their own or of each variant.
    missing_gtin: i64,
    /// Products in a currency other than the store's.
    foreign_currency: i64,
    /// Products whose stock status contradicts the quantity.
    contradicting_stock: i64,
    /// Products that share their GTIN with another product of the store.
    shared_gtin: i64,
    /// Time of the count.
    computed_at: Timestamp,
}

/// A product with defects.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FailingProduct {
    /// ID of the product.
    product_id: ProductId,
    /// The merchant's own identifier.
    external_id: String,
    /// Name of the product.
    name: String,
    /// Defects of the product.
    defects: Vec<Defect>,
}

impl From<DefectiveProduct> for FailingProduct {
    fn from(row: DefectiveProduct) -> Self {
        Self {
            product_id: row.id,
            external_id: row.external_id,
            name: row.name,
            defects: row.defects,
        }
    }
}

async fn quality(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<QualityParameters>,
) -> Result<Envelope<QualityResult>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let figures = catalog::quality(&reading, caller.merchant).await?;
    let state = catalog::catalog_state(&reading, caller.merchant).await?;
    let page = PageRequest::new(parameters.page, parameters.limit);
    let (failing, total) =
        catalog::products_with_defects(&reading, caller.merchant, parameters.defect, page).await?;
    let last_sync_at = caller.store.last_sync_at;
    let pushed_since = figures.as_ref().and_then(|figures| figures.pushed_since);
    Ok(Envelope::new(QualityResult {
        catalog_completeness: figures.as_ref().and_then(catalog::CatalogQuality::completeness),
        data_consistency: figures.as_ref().and_then(catalog::CatalogQuality::consistency),
        catalog_freshness: catalog::freshness(last_sync_at.max(pushed_since), reading.local_now()),
        last_sync_at,
        updating: state.updating,
        partial: state.partial,
        counted: figures.map(|figures| Counted {
            products: figures.products,
            missing_price: figures.missing_price,
            missing_image: figures.missing_image,
            missing_gtin: figures.missing_gtin,
            foreign_currency: figures.foreign_currency,
            contradicting_stock: figures.contradicting_stock,
            shared_gtin: figures.shared_gtin,
            computed_at: figures.computed_at,
        }),
        failing: failing.into_iter().map(FailingProduct::from).collect(),
        meta: page.meta(total),
    }))
}
