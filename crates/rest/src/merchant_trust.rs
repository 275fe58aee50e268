//! The trust score of a store for its merchant: what it is made of, what would raise it, and its evidence.

use std::sync::Arc;

use axum::extract::State;
use catalog::Defect;
use database::Reading;
use identity::StoreScope;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use trust::{
    Component, DayCursor, EvidenceRecord, FailingProducts, MerchantComponent, MerchantScore,
    MerchantTrust,
};

use crate::large_reads::LargeReads;
use crate::merchant_quality::FailingProduct;
use crate::request::InvalidField;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Query, Rest, RestState, Routes, StoreCaller,
};

/// Facts of orders are what a score mostly follows from.
const ACCESS: Access = Access::Store(StoreScope::Orders);

/// Rows of days per page of the evidence.
const ROWS_DEFAULT: i64 = 1_000;
const ROWS_MAX: i64 = 10_000;
/// Most characters of a cursor.
const CURSOR_CHARACTERS_MAX: usize = 100;

pub(crate) fn endpoints() -> Routes<RestState> {
    let read = Endpoint::get("/merchant/trust", ACCESS, read)
        .operation_id("getMerchantTrust")
        .tag("merchant")
        .summary("Get your trust score and what would raise it")
        .description(
            "Returns the score in force and each component, most points lost first: its value, its weight, what it costs, the \
             numbers behind it, who can influence them, the orders and checkouts that lower it, and the score that an improvement would \
             give. Keys with the scope `catalog` also get the products that lower it. A suspended store sees what would end the \
             suspension. `expected_score` includes what was improved since the last computation.",
        )
        .response::<Envelope<TrustResult>>(200);
    let evidence = Endpoint::get("/merchant/trust/evidence", ACCESS, evidence)
        .operation_id("getTrustEvidence")
        .tag("merchant")
        .summary("Get the evidence of your trust score")
        .description(
            "Returns the newest score by methodology 2.0 with everything it is computed from. With `GET /trust/methodology` \
             anybody can compute it again. `is_unchanged` is false if facts have changed since the score was stored: `score` \
             follows from the evidence as it is now, and `stored_score` from that with `evidence_hash`. A large store has \
             several pages of `evidence.days`: send `next_cursor` as `cursor` for the next one, and join them before you compute \
             the score or the hash. It counts as an export: a store has two at a time. Accounts have pseudonyms, which are other ones at each store; those that only started \
             checkouts have no effect, and are left out.",
        )
        .query::<EvidenceParameters>()
        .response::<Envelope<EvidenceRecord>>(200);
    Routes::new().with(read).with(evidence)
}

/// Which rows of days are returned.
#[derive(Debug, Deserialize, JsonSchema)]
struct EvidenceParameters {
    /// `next_cursor` of the previous page.
    #[schemars(length(max = CURSOR_CHARACTERS_MAX))]
    cursor: Option<String>,
    /// Rows of `evidence.days` per page, 1 to 10,000.
    #[schemars(extend("default" = ROWS_DEFAULT))]
    limit: Option<i64>,
}

/// Trust score of the store, and what would raise it.
#[derive(Debug, Serialize, JsonSchema)]
struct TrustResult {
    /// The score in force.
    #[serde(flatten)]
    score: MerchantScore,
    /// All components, most points lost first. Their values and weights are those of methodology 2.0.
    components: Vec<ComponentResult>,
}

/// A component of the score, with what lowers it.
#[derive(Debug, Serialize, JsonSchema)]
struct ComponentResult {
    /// The component.
    #[serde(flatten)]
    component: MerchantComponent,
    /// Products that lower the value; omitted if none does, and for keys without the scope `catalog`.
    #[serde(skip_serializing_if = "Option::is_none")]
    products: Option<ProductsResult>,
    /// Calls that show or improve what lowers the value.
    calls: Vec<String>,
}

/// Products with defects.
#[derive(Debug, Serialize, JsonSchema)]
struct ProductsResult {
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

impl From<FailingProducts> for ProductsResult {
    fn from(products: FailingProducts) -> Self {
        let counts = products.defects.into_iter();
        Self {
            defects: counts.map(|(defect, products)| DefectCount { defect, products }).collect(),
            failing: products.failing.into_iter().map(FailingProduct::from).collect(),
        }
    }
}

async fn read(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    State(large_reads): State<LargeReads>,
) -> Result<Envelope<TrustResult>, ErrorResponse> {
    let permit = large_reads.admit_score(caller.merchant).await?;
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    let may_see_products = caller.require(StoreScope::Catalog).is_ok();
    let store = caller.store.clone();
    let computed = async move { trust::merchant_trust(&reading, &store, may_see_products).await };
    let MerchantTrust { score, components, mut products } = permit.run(computed).await?;
    let result = |component: MerchantComponent| {
        let products = products.remove(&component.component).map(ProductsResult::from);
        let calls = calls(component.component, products.as_ref());
        ComponentResult { component, products, calls }
    };
    let components = components.into_iter().map(result).collect();
    Ok(Envelope::new(TrustResult { score, components }))
}

async fn evidence(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    State(large_reads): State<LargeReads>,
    Query(parameters): Query<EvidenceParameters>,
) -> Result<Envelope<EvidenceRecord>, ErrorResponse> {
    let cursor = parameters.cursor.as_deref().filter(|text| !text.is_empty());
    let after = cursor.map(str::parse::<DayCursor>).transpose();
    let after = after.map_err(|_| InvalidField { field: "cursor" })?;
    let limit = parameters.limit.unwrap_or(ROWS_DEFAULT).clamp(1, ROWS_MAX);
    let permit = large_reads.admit_export(caller.merchant)?;
    let (reading, merchant) =
        (Reading::for_store(&rest.database, caller.merchant)?, caller.merchant);
    let record = permit.run(async move { trust::evidence_record(&reading, merchant).await });
    let record = record.await?;
    Ok(Envelope::new(record.page(after, usize::try_from(limit).unwrap_or(usize::MAX))))
}

/// Returns the calls that show or improve what lowers a component.
fn calls(component: Component, products: Option<&ProductsResult>) -> Vec<String> {
    let calls: &[&str] = match (component, products) {
        (Component::CatalogCompleteness | Component::DataConsistency, Some(products)) => {
            let call = |count: &DefectCount| {
                format!("GET /api/v1/merchant/quality?defect={}", count.defect)
            };
            return products.defects.iter().map(call).collect();
        }
        (Component::CatalogCompleteness | Component::DataConsistency, None) => {
            &["GET /api/v1/merchant/quality"]
        }
        (Component::CatalogFreshness, _) => &["PUT /api/v1/merchant/products"],
        (Component::PriceAccuracy, _) => &[
            "GET /api/v1/merchant/checkouts",
            "POST /api/v1/merchant/checkouts/{checkout_id}/complete",
        ],
        (Component::AvailabilityAccuracy, _) => &["PATCH /api/v1/merchant/inventory"],
        (Component::PolicyCoverage, _) => &["PATCH /api/v1/merchant/settings"],
        (Component::CheckoutSuccessRate | Component::AgentSatisfactionRate, _) => {
            &["GET /api/v1/merchant/checkouts", "GET /api/v1/merchant/analytics/agents"]
        }
        (Component::FulfillmentRate, _) => {
            &["GET /api/v1/merchant/orders", "PATCH /api/v1/merchant/orders/{order_id}"]
        }
        (Component::DisputeRate, _) => &["GET /api/v1/merchant/disputes"],
        (Component::ReviewSentiment, _) => &["GET /api/v1/merchant/products"],
        (Component::ResponseLatency, _) => &[],
    };
    calls.iter().map(|call| (*call).to_owned()).collect()
}
