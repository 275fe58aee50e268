//! Product data for agents, across stores.

use std::sync::Arc;

use axum::extract::State;
use catalog::{Availability, Comparison, Gtin, Lookup, Product, ProductRecord};
use database::Reading;
use limits::QuotaClass;
use merchants::{Store, StoreRecord};
use primitives::{
    Details, ErrorCode, MerchantId, PageRequest, Problem, ProductId, Scope, StoreSlug,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::store_access::{SLUG_ERRORS, STORE_ERRORS};
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, PageEnvelope, Path, Query, Rest,
    RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let product =
        Endpoint::get("/agent/products/{product_id}", Access::Agent(Scope::AgentRead), product)
            .tool("get_product_details", QuotaClass::Discovery)
            .operation_id("getProduct")
            .tag("agent")
            .summary("Get a product")
            .description(
                "Returns all data of the product, with its variants and the store's trust score and policies.",
            )
            .path::<ProductId>()
            .response::<Envelope<ProductRecord>>(200)
            .errors(&PRODUCT_ERRORS);
    let find = Endpoint::get("/agent/products", Access::Agent(Scope::AgentRead), find).tool("lookup_products", QuotaClass::Discovery)
        .operation_id("lookupProducts")
        .tag("agent")
        .summary("Look up products by GTIN, SKU or URL")
        .description(
            "Requires exactly one of `gtin`, `sku` and `url`. `gtin` finds the article in every store, highest trust \
             score first, or only in the store `merchant`. `sku` and `url` require `merchant`.",
        )
        .query::<LookupParameters>()
        .response::<PageEnvelope<ProductRecord>>(200)
        .errors(SLUG_ERRORS);
    let compare = Endpoint::post("/agent/compare", Access::Agent(Scope::AgentRead), compare)
        .tool("compare_products", QuotaClass::Discovery)
        .operation_id("compareProducts")
        .tag("agent")
        .summary("Compare products")
        .description("Returns two to ten products, of one store or several, and the fields in which they differ.")
        .body::<CompareRequest>()
        .response::<Envelope<ComparisonResult>>(200)
        .errors(&PRODUCT_ERRORS);
    let availability = Endpoint::get(
        "/agent/availability/{product_id}",
        Access::Agent(Scope::AgentRead),
        availability,
    )
    .tool("check_availability", QuotaClass::Discovery)
    .operation_id("checkAvailability")
    .tag("agent")
    .summary("Check the availability of a product")
    .description("Returns stock status and quantity of the product and of each variant.")
    .path::<ProductId>()
    .response::<Envelope<Availability>>(200)
    .errors(&PRODUCT_ERRORS);
    let merchant =
        Endpoint::get("/agent/merchants/{slug}", Access::Agent(Scope::AgentRead), merchant)
            .tool("get_merchant_profile", QuotaClass::Discovery)
            .operation_id("getMerchantProfile")
            .tag("agent")
            .summary("Get the profile of a store")
            .description("The same profile as `GET /stores/{slug}`, for agents with a key.")
            .path::<StoreSlug>()
            .response::<Envelope<StoreRecord>>(200)
            .errors(STORE_ERRORS);
    let routes = Routes::new().with(product).with(find).with(compare);
    routes.with(availability).with(merchant)
}

/// Errors of every call that names a product.
pub(crate) const PRODUCT_ERRORS: [ErrorCode; 3] =
    [ErrorCode::ProductNotFound, ErrorCode::StoreNotFound, ErrorCode::StoreSuspended];

/// Returns a product and its store, or an error if the store is closed or suspended.
pub(crate) async fn load(
    rest: &Rest,
    merchant: MerchantId,
    id: ProductId,
) -> Result<(Product, std::sync::Arc<Store>), ErrorResponse> {
    let store = rest.stores.find_merchant(merchant).await?;
    store.admit()?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    Ok((catalog::product(&reading, merchant, id).await?, store))
}

/// Returns a product of any store, and the store. `ProductNotFound` if the agent's key is restricted to other stores.
pub(crate) async fn load_visible(
    rest: &Rest,
    agent: &AgentCaller,
    id: ProductId,
) -> Result<(Product, std::sync::Arc<Store>), ErrorResponse> {
    let merchant = catalog::merchant_of(&rest.database, id).await?;
    agent.require_visible(merchant)?;
    agent.record.set_store(&rest.stores.find_merchant(merchant).await?.slug);
    load(rest, merchant, id).await
}

async fn product(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<ProductId>,
) -> Result<Envelope<ProductRecord>, ErrorResponse> {
    let (product, store) = load_visible(&rest, &agent, id).await?;
    Ok(Envelope::new(product.record(&store, &rest.site_url)))
}

async fn merchant(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
) -> Result<Envelope<StoreRecord>, ErrorResponse> {
    let store = rest.stores.admit(&slug).await?;
    agent.require_store(store.merchant)?;
    Ok(Envelope::new(store.record(&rest.site_url)))
}

/// Identifies the products.
#[derive(Debug, Deserialize, JsonSchema)]
struct LookupParameters {
    /// Slug of the store to search; required with `sku` and `url`.
    #[schemars(length(max = StoreSlug::LENGTH_MAX))]
    merchant: Option<String>,
    /// Barcode number (GTIN, EAN, UPC or ISBN-13): 8, 12, 13 or 14 digits.
    #[schemars(length(max = 20))]
    gtin: Option<String>,
    /// The merchant's SKU, of a product or of a variant.
    #[schemars(length(max = 100))]
    sku: Option<String>,
    /// URL of the product page in the merchant's shop.
    #[schemars(length(max = 2048))]
    url: Option<String>,
}

async fn find(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<LookupParameters>,
) -> Result<PageEnvelope<ProductRecord>, ErrorResponse> {
    let lookup = parameters.lookup()?;
    let merchants = match (&parameters.merchant, &lookup) {
        (Some(slug), _) => {
            let slug = slug.parse().map_err(|_| InvalidLookup::slug())?;
            vec![rest.stores.admit(&slug).await?.merchant]
        }
        (None, (Some(gtin), _)) => catalog::sellers(&rest.database, gtin).await?,
        (None, _) => return Err(InvalidLookup::store().into()),
    };
    let mut records = Vec::new();
    for merchant in merchants {
        let store = rest.stores.find_merchant(merchant).await?;
        if store.admit().is_err() || agent.require_visible(merchant).is_err() {
            continue;
        }
        let reading = Reading::for_store(&rest.database, merchant)?;
        let found = catalog::find(&reading, merchant, &lookup.1).await?;
        records.extend(found.iter().map(|product| product.record(&store, &rest.site_url)));
    }
    let page = PageRequest::new(None, Some(i64::from(PageRequest::LIMIT_MAX)));
    let total = i64::try_from(records.len()).unwrap_or(i64::MAX);
    // The highest trust scores come first, and there is no second page.
    records.truncate(usize::try_from(PageRequest::LIMIT_MAX).unwrap_or(usize::MAX));
    Ok(PageEnvelope::new(records, page.meta(total)))
}

impl LookupParameters {
    /// Returns the lookup, and the GTIN separately, because it identifies the article in every store.
    fn lookup(&self) -> Result<(Option<Gtin>, Lookup), InvalidLookup> {
        match (&self.gtin, &self.sku, &self.url) {
            (Some(gtin), None, None) => {
                let gtin: Gtin = gtin.parse().map_err(|_| InvalidLookup::gtin())?;
                Ok((Some(gtin), Lookup::Gtin(gtin.to_14())))
            }
            (None, Some(sku), None) => Ok((None, Lookup::Sku(sku.clone()))),
            (None, None, Some(url)) => {
                let url = catalog::web_url(url).map_err(|_| InvalidLookup::url())?;
                Ok((None, Lookup::Url(url)))
            }
            _ => Err(InvalidLookup::ambiguous()),
        }
    }
}

/// The parameters do not identify products.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct InvalidLookup {
    code: ErrorCode,
    field: &'static str,
    message: &'static str,
}

impl InvalidLookup {
    fn new(field: &'static str, message: &'static str) -> Self {
        Self { code: ErrorCode::InvalidRequest, field, message }
    }

    fn ambiguous() -> Self {
        Self::new("gtin", "exactly one of gtin, sku and url is required")
    }

    fn store() -> Self {
        Self::new("merchant", "merchant is required with sku and url")
    }

    fn slug() -> Self {
        let message = "merchant must be the slug of a store: letters, digits and hyphens";
        Self { code: ErrorCode::InvalidSlug, ..Self::new("merchant", message) }
    }

    fn gtin() -> Self {
        Self::new("gtin", "gtin must be 8, 12, 13 or 14 digits with a valid check digit")
    }

    fn url() -> Self {
        Self::new("url", "url must be an http or https URL")
    }
}

impl Problem for InvalidLookup {
    fn code(&self) -> ErrorCode {
        self.code
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.field);
        details.insert(
            "hint",
            "for example ?gtin=9520000000004, or ?merchant=demo-store&sku=POUR-101",
        );
    }
}

/// The products to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "product_ids": [
    "prod_076c313f7c63513c9eb9f8f3fff08813", "prod_f24fefefd5765cf09a93af90741737df",
] })))]
struct CompareRequest {
    /// IDs of two to ten products.
    #[schemars(length(min = 2, max = 10))]
    #[schemars(extend("x-former-names" = ["ids"]))]
    product_ids: Vec<ProductId>,
}

/// A comparison of products.
#[derive(Debug, Serialize, JsonSchema)]
struct ComparisonResult {
    /// The products, in the requested order.
    products: Vec<ProductRecord>,
    /// The differences between them.
    #[serde(flatten)]
    comparison: Comparison,
}

async fn compare(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<CompareRequest>,
) -> Result<Envelope<ComparisonResult>, ErrorResponse> {
    catalog::comparable(&request.product_ids)?;
    let mut products = Vec::with_capacity(request.product_ids.len());
    for id in request.product_ids {
        let (product, store) = load_visible(&rest, &agent, id).await?;
        products.push(product.record(&store, &rest.site_url));
    }
    let comparison = Comparison::of(&products);
    Ok(Envelope::new(ComparisonResult { products, comparison }))
}

async fn availability(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<ProductId>,
) -> Result<Envelope<Availability>, ErrorResponse> {
    let (product, _) = load_visible(&rest, &agent, id).await?;
    Ok(Envelope::new(product.availability()))
}
