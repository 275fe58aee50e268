//! Products, as agents read them across stores.

use std::sync::Arc;

use axum::extract::State;
use catalog::{Availability, Comparison, Gtin, Lookup, Product, ProductRecord};
use database::Reading;
use merchants::{Store, StoreRecord};
use primitives::{
    Details, ErrorCode, MerchantId, PageRequest, Problem, ProductId, Scope, StoreSlug,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::request::ProductPart;
use crate::{
    Access, AgentCaller, Endpoint, Json, Many, One, Opened, Path, Query, Refusal, Rest, Routes,
};

pub(crate) fn endpoints() -> Routes<Opened> {
    let product =
        Endpoint::get("/agent/products/{product_id}", Access::Agent(Scope::AgentRead), product)
            .tool("get_product_details", 60)
            .name("readProduct")
            .tag("agent")
            .summary("A product")
            .explanation(
                "Everything its store says about it, with the store's trust score and policies.",
            )
            .path::<ProductPart>()
            .answer::<One<ProductRecord>>(200)
            .errors(&MISSING);
    let find = Endpoint::get("/agent/products", Access::Agent(Scope::AgentRead), find).tool("lookup_products", 60)
        .name("findProducts")
        .tag("agent")
        .summary("Products by article number, SKU or address")
        .explanation(
            "`gtin` finds an article in every store, the best trusted first; with `merchant` in that store only. \
             `sku` and `url` are looked for in the store named by `merchant`.",
        )
        .query::<FindParameters>()
        .answer::<Many<ProductRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended, ErrorCode::InvalidSlug]);
    let compare = Endpoint::post("/agent/compare", Access::Agent(Scope::AgentRead), compare)
        .tool("compare_products", 60)
        .name("compareProducts")
        .tag("agent")
        .summary("Products side by side")
        .explanation("Two to ten products, of one store or of several, and where they differ.")
        .body::<CompareRequest>()
        .answer::<One<Compared>>(200)
        .errors(&MISSING);
    let availability = Endpoint::get(
        "/agent/availability/{product_id}",
        Access::Agent(Scope::AgentRead),
        availability,
    )
    .tool("check_availability", 60)
    .name("readAvailability")
    .tag("agent")
    .summary("Whether a product can be had")
    .path::<ProductPart>()
    .answer::<One<Availability>>(200)
    .errors(&MISSING);
    let merchant =
        Endpoint::get("/agent/merchants/{slug}", Access::Agent(Scope::AgentRead), merchant)
            .tool("get_merchant_profile", 60)
            .name("readMerchant")
            .tag("agent")
            .summary("The profile of a store")
            .path::<StoreSlug>()
            .answer::<One<StoreRecord>>(200)
            .errors(&[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended]);
    let routes = Routes::new().with(product).with(find).with(compare);
    routes.with(availability).with(merchant)
}

pub(crate) const MISSING: [ErrorCode; 3] =
    [ErrorCode::ProductNotFound, ErrorCode::StoreNotFound, ErrorCode::StoreSuspended];

/// A product and its store, if agents may call on it.
pub(crate) async fn load(
    rest: &Rest,
    merchant: MerchantId,
    id: ProductId,
) -> Result<(Product, std::sync::Arc<Store>), Refusal> {
    let store = rest.stores.find_merchant(merchant).await?;
    store.admit()?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    Ok((catalog::product(&reading, merchant, id).await?, store))
}

/// The same of whatever store, as far as an agent may see it.
pub(crate) async fn load_for(
    rest: &Rest,
    agent: &AgentCaller,
    id: ProductId,
) -> Result<(Product, std::sync::Arc<Store>), Refusal> {
    let merchant = catalog::owner(&rest.database, id).await?;
    agent.sees(merchant)?;
    load(rest, merchant, id).await
}

async fn product(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(ProductPart(id)): Path<ProductPart>,
) -> Result<One<ProductRecord>, Refusal> {
    let (product, store) = load_for(&rest, &agent, id).await?;
    Ok(One::new(product.record(&store, &rest.site_url)))
}

async fn merchant(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
) -> Result<One<StoreRecord>, Refusal> {
    let store = rest.stores.admit(&slug).await?;
    agent.0.require_store(store.merchant)?;
    Ok(One::new(store.record(&rest.site_url)))
}

/// How products are named.
#[derive(Debug, Deserialize, JsonSchema)]
struct FindParameters {
    /// The store to look in.
    #[schemars(length(max = 63))]
    merchant: Option<String>,
    /// The number on the bar code: 8, 12, 13 or 14 digits.
    #[schemars(length(max = 20))]
    gtin: Option<String>,
    /// The merchant's stock-keeping number, of a product or of a variant.
    #[schemars(length(max = 100))]
    sku: Option<String>,
    /// The product's page in the merchant's shop.
    #[schemars(length(max = 2048))]
    url: Option<String>,
}

async fn find(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<FindParameters>,
) -> Result<Many<ProductRecord>, Refusal> {
    let lookup = parameters.lookup()?;
    let merchants = match (&parameters.merchant, &lookup) {
        (Some(slug), _) => {
            let slug = slug.parse().map_err(|_| Unnamed::slug())?;
            vec![rest.stores.admit(&slug).await?.merchant]
        }
        (None, (Some(gtin), _)) => catalog::sellers(&rest.database, gtin).await?,
        (None, _) => return Err(Unnamed::store().into()),
    };
    let mut records = Vec::new();
    for merchant in merchants {
        let store = rest.stores.find_merchant(merchant).await?;
        if store.admit().is_err() || agent.sees(merchant).is_err() {
            continue;
        }
        let reading = Reading::for_store(&rest.database, merchant)?;
        let found = catalog::find(&reading, merchant, &lookup.1).await?;
        records.extend(found.iter().map(|product| product.record(&store, &rest.site_url)));
    }
    let page = PageRequest::new(None, Some(i64::from(PageRequest::LIMIT_MAX)));
    let total = i64::try_from(records.len()).unwrap_or(i64::MAX);
    // The best trusted come first, and there is no second page.
    records.truncate(usize::try_from(PageRequest::LIMIT_MAX).unwrap_or(usize::MAX));
    Ok(Many::new(records, page.meta(total)))
}

impl FindParameters {
    /// What to look for; the article number by itself as well, because it is one in every store.
    fn lookup(&self) -> Result<(Option<Gtin>, Lookup), Unnamed> {
        match (&self.gtin, &self.sku, &self.url) {
            (Some(gtin), None, None) => {
                let gtin: Gtin = gtin.parse().map_err(|_| Unnamed::gtin())?;
                Ok((Some(gtin), Lookup::Gtin(gtin.to_14())))
            }
            (None, Some(sku), None) => Ok((None, Lookup::Sku(sku.clone()))),
            (None, None, Some(url)) => {
                let url = catalog::web_address(url).map_err(|_| Unnamed::url())?;
                Ok((None, Lookup::Url(url)))
            }
            _ => Err(Unnamed::what()),
        }
    }
}

/// The parameters do not say which products are meant.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
struct Unnamed {
    code: ErrorCode,
    field: &'static str,
    sentence: &'static str,
}

impl Unnamed {
    fn new(field: &'static str, sentence: &'static str) -> Self {
        Self { code: ErrorCode::InvalidRequest, field, sentence }
    }

    fn what() -> Self {
        Self::new("gtin", "name exactly one of gtin, sku and url")
    }

    fn store() -> Self {
        Self::new("merchant", "a sku or a url belongs to one store; name it as merchant")
    }

    fn slug() -> Self {
        let sentence = "merchant must be the slug of a store: letters, digits and hyphens";
        Self { code: ErrorCode::InvalidSlug, ..Self::new("merchant", sentence) }
    }

    fn gtin() -> Self {
        Self::new("gtin", "gtin must be 8, 12, 13 or 14 digits with a right check digit")
    }

    fn url() -> Self {
        Self::new("url", "url must be an http or https address")
    }
}

impl Problem for Unnamed {
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

/// What to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "product_ids": [
    "prod_076c313f7c63513c9eb9f8f3fff08813", "prod_f24fefefd5765cf09a93af90741737df",
] })))]
struct CompareRequest {
    /// Two to ten product ids.
    #[schemars(length(min = 2, max = 10))]
    product_ids: Vec<ProductId>,
}

/// Products side by side.
#[derive(Debug, Serialize, JsonSchema)]
struct Compared {
    /// The products, in the order they were asked for.
    products: Vec<ProductRecord>,
    /// How they differ.
    #[serde(flatten)]
    comparison: Comparison,
}

async fn compare(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<CompareRequest>,
) -> Result<One<Compared>, Refusal> {
    catalog::comparable(&request.product_ids)?;
    let mut products = Vec::with_capacity(request.product_ids.len());
    for id in request.product_ids {
        let (product, store) = load_for(&rest, &agent, id).await?;
        products.push(product.record(&store, &rest.site_url));
    }
    let comparison = Comparison::of(&products);
    Ok(One::new(Compared { products, comparison }))
}

async fn availability(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(ProductPart(id)): Path<ProductPart>,
) -> Result<One<Availability>, Refusal> {
    let (product, _) = load_for(&rest, &agent, id).await?;
    Ok(One::new(product.availability()))
}
