//! The trust score of a store for its merchant: what it is made of, what would raise it, and its evidence.

use std::sync::Arc;

use axum::extract::State;
use catalog::{CatalogQuality, Defect};
use database::Reading;
use identity::StoreScope;
use primitives::PageRequest;
use schemars::JsonSchema;
use serde::Serialize;
use trust::{Component, EvidenceRecord, MerchantComponent, MerchantScore, MerchantTrust};

use crate::merchant_quality::FailingProduct;
use crate::{Access, Endpoint, Envelope, ErrorResponse, Rest, RestState, Routes, StoreCaller};

/// Facts of orders are what a score mostly follows from.
const ACCESS: Access = Access::Store(StoreScope::Orders);

/// Products that are listed for a component.
const PRODUCTS_MAX: i64 = 20;
/// Size of a catalog above which products are counted, and not listed: finding them reads the whole catalog.
const CATALOG_MAX: i64 = 100_000;

pub(crate) fn endpoints() -> Routes<RestState> {
    let read = Endpoint::get("/merchant/trust", ACCESS, read)
        .operation_id("getMerchantTrust")
        .tag("merchant")
        .summary("Get your trust score and what would raise it")
        .description(
            "Returns the score in force and each component, the most expensive first: its value, its weight, what it costs, the \
             numbers behind it, who can influence them, the products and orders that lower it, and the score that mending it \
             would give. A suspended store sees what would end the suspension. `expected_score` includes what was mended \
             since the last computation.",
        )
        .response::<Envelope<TrustResult>>(200);
    let evidence = Endpoint::get("/merchant/trust/evidence", ACCESS, evidence)
        .operation_id("getTrustEvidence")
        .tag("merchant")
        .summary("Get the evidence of your trust score")
        .description(
            "Returns the newest score with everything it was computed from. With `GET /trust/methodology` anybody can compute \
             it again. Accounts have pseudonyms, which are other ones at each store.",
        )
        .response::<Envelope<EvidenceRecord>>(200);
    Routes::new().with(read).with(evidence)
}

/// Trust score of the store, and what would raise it.
#[derive(Debug, Serialize, JsonSchema)]
struct TrustResult {
    /// The score in force.
    #[serde(flatten)]
    score: MerchantScore,
    /// All components, the most expensive first. Their values and weights are those of methodology 2.0.
    components: Vec<ComponentResult>,
}

/// A component of the score, with what lowers it.
#[derive(Debug, Serialize, JsonSchema)]
struct ComponentResult {
    /// The component.
    #[serde(flatten)]
    component: MerchantComponent,
    /// Products that lower the value; omitted if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    products: Option<ProductsToMend>,
    /// Calls that show or mend what lowers the value.
    calls: Vec<String>,
}

/// Products with defects.
#[derive(Debug, Serialize, JsonSchema)]
struct ProductsToMend {
    /// Number of products by defect, the most frequent first. A product can have several defects.
    defects: Vec<DefectCount>,
    /// Products with the most frequent defect, by identifier, at most 20. Empty in a catalog of more than 100,000 products.
    failing: Vec<FailingProduct>,
}

/// Number of products with a defect.
#[derive(Debug, Serialize, JsonSchema)]
struct DefectCount {
    /// The defect.
    defect: Defect,
    /// Products with it.
    products: i64,
}

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<Envelope<TrustResult>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let MerchantTrust { score, components } =
        trust::merchant_trust(&reading, &caller.store).await?;
    let quality = catalog::quality(&reading, caller.merchant).await?;
    let mut results = Vec::with_capacity(components.len());
    for component in components {
        let products = match &quality {
            Some(quality) => products_to_mend(&caller, &reading, quality, &component).await?,
            None => None,
        };
        let calls = calls(component.component, products.as_ref());
        results.push(ComponentResult { component, products, calls });
    }
    Ok(Envelope::new(TrustResult { score, components: results }))
}

async fn evidence(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<Envelope<EvidenceRecord>, ErrorResponse> {
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    Ok(Envelope::new(trust::evidence_record(&reading, caller.merchant).await?))
}

/// Returns the products that lower a component.
async fn products_to_mend(
    caller: &StoreCaller,
    reading: &Reading,
    quality: &CatalogQuality,
    component: &MerchantComponent,
) -> Result<Option<ProductsToMend>, ErrorResponse> {
    let defects = defects(component.component, quality);
    let Some(most) = defects.first().map(|most| most.defect) else { return Ok(None) };
    let failing = if quality.products <= CATALOG_MAX {
        let page = PageRequest::new(None, Some(PRODUCTS_MAX));
        let (failing, _) =
            catalog::products_with_defects(reading, caller.merchant, Some(most), page).await?;
        failing.into_iter().map(FailingProduct::from).collect()
    } else {
        Vec::new()
    };
    Ok(Some(ProductsToMend { defects, failing }))
}

/// Returns the defects that lower a component and occur, the most frequent first.
fn defects(component: Component, quality: &CatalogQuality) -> Vec<DefectCount> {
    let counts = match component {
        Component::CatalogCompleteness => [
            (Defect::MissingGtin, quality.missing_gtin),
            (Defect::MissingImage, quality.missing_image),
            (Defect::MissingPrice, quality.missing_price),
        ],
        Component::DataConsistency => [
            (Defect::ContradictingStock, quality.contradicting_stock),
            (Defect::ForeignCurrency, quality.foreign_currency),
            (Defect::SharedGtin, quality.shared_gtin),
        ],
        _ => return Vec::new(),
    };
    let counted = counts.into_iter().filter(|(_, products)| *products > 0);
    let mut counted: Vec<DefectCount> =
        counted.map(|(defect, products)| DefectCount { defect, products }).collect();
    counted.sort_by_key(|count| -count.products);
    counted
}

/// Returns the calls that show or mend what lowers a component.
fn calls(component: Component, products: Option<&ProductsToMend>) -> Vec<String> {
    let calls: &[&str] = match component {
        Component::CatalogCompleteness | Component::DataConsistency => {
            let defects = products.map(|products| products.defects.iter());
            let call = |count: &DefectCount| {
                format!("GET /api/v1/merchant/quality?defect={}", count.defect)
            };
            return defects.into_iter().flatten().map(call).collect();
        }
        Component::CatalogFreshness => &["PUT /api/v1/merchant/products"],
        Component::PriceAccuracy => &["POST /api/v1/merchant/checkouts/{checkout_id}/complete"],
        Component::AvailabilityAccuracy => &["PATCH /api/v1/merchant/inventory"],
        Component::PolicyCoverage => &["PATCH /api/v1/merchant/settings"],
        Component::CheckoutSuccessRate | Component::AgentSatisfactionRate => {
            &["GET /api/v1/merchant/checkouts", "GET /api/v1/merchant/analytics/agents"]
        }
        Component::FulfillmentRate => {
            &["GET /api/v1/merchant/orders", "PATCH /api/v1/merchant/orders/{order_id}"]
        }
        Component::DisputeRate => &["GET /api/v1/merchant/disputes"],
        Component::ReviewSentiment => &["GET /api/v1/merchant/products"],
        Component::ResponseLatency => &[],
    };
    calls.iter().map(|call| (*call).to_owned()).collect()
}
