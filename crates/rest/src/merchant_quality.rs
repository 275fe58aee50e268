//! How good a merchant's data is, and which products to mend.

use std::sync::Arc;

use axum::extract::State;
use catalog::{Defect, Failing};
use database::Reading;
use primitives::{PageMeta, PageRequest, ProductId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Access, Endpoint, One, Opened, Query, Refusal, Rest, Routes, StoreCaller};

pub(crate) fn endpoints() -> Routes<Opened> {
    let quality = Endpoint::get("/merchant/quality", Access::Store, quality)
        .name("readQuality")
        .tag("merchant")
        .summary("How good the catalog's data is, and which products to mend")
        .explanation(
            "Completeness, consistency and freshness are components of the trust score. The figures are counted \
             some seconds after a change; the products are listed as they are now.",
        )
        .query::<QualityParameters>()
        .answer::<One<QualityAnswer>>(200);
    Routes::new().with(quality)
}

/// Which products to list.
#[derive(Debug, Deserialize, JsonSchema)]
struct QualityParameters {
    /// Only products that fail in this way.
    defect: Option<Defect>,
    /// Which page, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Products on a page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// The figures, and the products that fail.
#[derive(Debug, Serialize, JsonSchema)]
struct QualityAnswer {
    /// The share of products with title, price, picture and GTIN; null without products.
    catalog_completeness: Option<f64>,
    /// The share of products without contradictions; null without products.
    data_consistency: Option<f64>,
    /// 1 up to a day after the last complete replacement, falling to 0 after a week.
    catalog_freshness: f64,
    /// When the catalog was last brought in completely.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_sync_at: Option<Timestamp>,
    /// A feed is being applied at this moment.
    updating: bool,
    /// What is listed is partly old and partly new, because a feed is being applied or did not come to its end.
    partial: bool,
    /// What was counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    counted: Option<Counted>,
    /// Products to mend, by identifier.
    failing: Vec<FailingProduct>,
    /// Which page of them this is, and how many there are.
    meta: PageMeta,
}

/// Products, by what is wrong with them.
#[derive(Debug, Serialize, JsonSchema)]
struct Counted {
    /// Products listed.
    products: i64,
    /// Without a price above zero.
    missing_price: i64,
    /// Without a picture.
    missing_image: i64,
    /// Without a GTIN, of their own or of each variant.
    missing_gtin: i64,
    /// In another currency than the store's.
    foreign_currency: i64,
    /// Whose stock status and number contradict each other.
    contradicting_stock: i64,
    /// Whose GTIN another product of the store has too.
    shared_gtin: i64,
    /// When it was counted.
    computed_at: Timestamp,
}

/// A product to mend.
#[derive(Debug, Serialize, JsonSchema)]
struct FailingProduct {
    /// Its id.
    product_id: ProductId,
    /// The merchant's own identifier.
    external_id: String,
    /// What it is called.
    name: String,
    /// What is wrong with it.
    defects: Vec<Defect>,
}

impl From<Failing> for FailingProduct {
    fn from(row: Failing) -> Self {
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
) -> Result<One<QualityAnswer>, Refusal> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let figures = catalog::quality(&reading, caller.merchant).await?;
    let state = catalog::catalog_state(&reading, caller.merchant).await?;
    let page = PageRequest::new(parameters.page, parameters.limit);
    let (failing, total) =
        catalog::failing(&reading, caller.merchant, parameters.defect, page).await?;
    let last_sync_at = caller.store.last_sync_at;
    Ok(One::new(QualityAnswer {
        catalog_completeness: figures.as_ref().and_then(catalog::Figures::completeness),
        data_consistency: figures.as_ref().and_then(catalog::Figures::consistency),
        catalog_freshness: catalog::freshness(last_sync_at, reading.local_now()),
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
