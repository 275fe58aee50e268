//! What is cheaper now, and what is new.

use std::sync::Arc;

use axum::extract::State;
use catalog::ProductRecord;
use database::Reading;
use primitives::{ErrorCode, PageRequest, StoreSlug};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent_products::load;
use crate::{Access, Endpoint, Malformed, Many, Opened, Path, Query, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    let deals = Endpoint::get("/deals", Access::Public, deals)
        .name("listDeals")
        .tag("agent")
        .summary("The best reductions of all stores")
        .explanation(
            "Products that cost less than before, the largest reduction first, of stores agents may check out at. \
             Up to a thousand are counted.",
        )
        .query::<DealParameters>()
        .answer::<Many<ProductRecord>>(200);
    let arrivals = Endpoint::get("/stores/{slug}/new-arrivals", Access::Public, new_arrivals)
        .tool("list_new_arrivals", 60)
        .name("listNewArrivals")
        .tag("agent")
        .summary("A store's newest products")
        .path::<StoreSlug>()
        .query::<PageParameters>()
        .answer::<Many<ProductRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended]);
    Routes::new().with(deals).with(arrivals)
}

/// Which deals.
#[derive(Debug, Deserialize, JsonSchema)]
struct DealParameters {
    /// The least reduction, in percent.
    #[schemars(range(min = 0, max = 100), extend("default" = 5))]
    min_discount: Option<f64>,
    /// Which page, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Products on a page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

/// Which page.
#[derive(Debug, Deserialize, JsonSchema)]
struct PageParameters {
    /// Which page, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Products on a page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

async fn deals(
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<DealParameters>,
) -> Result<Many<ProductRecord>, Refusal> {
    let least = parameters.min_discount.unwrap_or(5.0);
    if !(0.0..=100.0).contains(&least) {
        return Err(Malformed::parameter::<DealParameters>("min_discount").into());
    }
    let page = PageRequest::new(parameters.page, parameters.limit);
    let deals = catalog::deals(&rest.database, least, page).await?;
    let mut records = Vec::with_capacity(deals.places.len());
    for (merchant, id) in deals.places {
        // One that changed since the list was made is left out rather than failing the page.
        match load(&rest, merchant, id).await {
            Ok((product, store)) => records.push(product.record(&store, &rest.site_url)),
            Err(Refusal(failure)) if failure.code().status() < 500 => {}
            Err(refusal) => return Err(refusal),
        }
    }
    Ok(Many::new(records, page.meta(deals.total).estimated(deals.total_is_estimate)))
}

async fn new_arrivals(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Query(parameters): Query<PageParameters>,
) -> Result<Many<ProductRecord>, Refusal> {
    let store = rest.stores.admit(&slug).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let page = PageRequest::new(parameters.page, parameters.limit);
    let (products, total) = catalog::new_arrivals(&reading, store.merchant, page).await?;
    let records = products.iter().map(|product| product.record(&store, &rest.site_url)).collect();
    Ok(Many::new(records, page.meta(total)))
}
