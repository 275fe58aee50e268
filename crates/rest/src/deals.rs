//! Deals and new arrivals.

use std::sync::Arc;

use axum::extract::State;
use catalog::ProductRecord;
use database::Reading;
use limits::QuotaClass;
use primitives::{PageRequest, StoreSlug};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent_products::load;
use crate::paging::PageParameters;
use crate::store_access::STORE_ERRORS;
use crate::{
    Access, Endpoint, ErrorResponse, InvalidInput, PageEnvelope, Path, Query, Rest, RestState,
    Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let deals = Endpoint::get("/deals", Access::Public, deals)
        .operation_id("listDeals")
        .tag("agent")
        .summary("List deals of all stores")
        .description(
            "Products with a price below their list price, largest discount first, of stores where agents may check \
             out. At most a thousand are counted.",
        )
        .query::<DealParameters>()
        .response::<PageEnvelope<ProductRecord>>(200);
    let arrivals = Endpoint::get("/stores/{slug}/new-arrivals", Access::Public, new_arrivals)
        .tool("list_new_arrivals", QuotaClass::Discovery)
        .operation_id("listNewArrivals")
        .tag("agent")
        .summary("List new arrivals of a store")
        .description("The newest products of the store, newest first.")
        .path::<StoreSlug>()
        .query::<PageParameters>()
        .response::<PageEnvelope<ProductRecord>>(200)
        .errors(STORE_ERRORS);
    Routes::new().with(deals).with(arrivals)
}

/// Filter and page of the deals.
#[derive(Debug, Deserialize, JsonSchema)]
struct DealParameters {
    /// Minimum discount, in percent.
    #[schemars(range(min = 0, max = 100), extend("default" = 5))]
    min_discount: Option<f64>,
    /// Page number, from 1.
    #[schemars(extend("default" = 1))]
    page: Option<i64>,
    /// Products per page, 1 to 100.
    #[schemars(extend("default" = PageRequest::LIMIT_DEFAULT))]
    limit: Option<i64>,
}

async fn deals(
    State(rest): State<Arc<Rest>>,
    Query(parameters): Query<DealParameters>,
) -> Result<PageEnvelope<ProductRecord>, ErrorResponse> {
    let least = parameters.min_discount.unwrap_or(5.0);
    if !(0.0..=100.0).contains(&least) {
        return Err(InvalidInput::parameter::<DealParameters>("min_discount").into());
    }
    let page = PageRequest::new(parameters.page, parameters.limit);
    let deals = catalog::deals(&rest.database, least, page).await?;
    let mut records = Vec::with_capacity(deals.products.len());
    for (merchant, id) in deals.products {
        // A product that changed since the list was computed is left out rather than failing the page.
        match load(&rest, merchant, id).await {
            Ok((product, store)) => records.push(product.record(&store, &rest.site_url)),
            Err(ErrorResponse(failure)) if failure.code().status() < 500 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(PageEnvelope::new(records, page.meta(deals.total).estimated(deals.total_is_estimate)))
}

async fn new_arrivals(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Query(parameters): Query<PageParameters>,
) -> Result<PageEnvelope<ProductRecord>, ErrorResponse> {
    let store = rest.stores.admit(&slug).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let page = parameters.request();
    let (products, total) = catalog::new_arrivals(&reading, store.merchant, page).await?;
    let records = products.iter().map(|product| product.record(&store, &rest.site_url)).collect();
    Ok(PageEnvelope::new(records, page.meta(total)))
}
