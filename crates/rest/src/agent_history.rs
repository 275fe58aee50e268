//! Price history and reviews of a product.

use std::sync::Arc;

use axum::extract::State;
use catalog::{PriceHistory, PriceRecord, ReviewRecord, Reviews};
use database::Reading;
use limits::QuotaClass;
use primitives::{ProductId, Scope};

use crate::agent_products::{PRODUCT_ERRORS, load_visible};
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Path, Rest, RestState, Routes,
};

/// Prices in one response.
const PRICES_MAX: i64 = 200;
/// Reviews in one response.
const REVIEWS_MAX: i64 = 50;

pub(crate) fn endpoints() -> Routes<RestState> {
    let prices = Endpoint::get(
        "/agent/products/{product_id}/prices",
        Access::Agent(Scope::AgentRead),
        prices,
    )
    .tool("get_price_history", QuotaClass::Discovery)
    .operation_id("getPriceHistory")
    .tag("agent")
    .summary("Get the price history of a product")
    .description("Returns up to 200 prices, newest first.")
    .path::<ProductId>()
    .response::<Envelope<PriceHistory>>(200)
    .errors(&PRODUCT_ERRORS);
    let reviews = Endpoint::get(
        "/agent/products/{product_id}/reviews",
        Access::Agent(Scope::AgentRead),
        reviews,
    )
    .tool("get_product_reviews", QuotaClass::Discovery)
    .operation_id("listProductReviews")
    .tag("agent")
    .summary("List reviews of a product")
    .description("Returns up to 50 reviews, newest first, as the merchant supplied them; `source` names their origin.")
    .path::<ProductId>()
    .response::<Envelope<Reviews>>(200)
    .errors(&PRODUCT_ERRORS);
    Routes::new().with(prices).with(reviews)
}

async fn prices(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<ProductId>,
) -> Result<Envelope<PriceHistory>, ErrorResponse> {
    let (product, store) = load_visible(&rest, &agent, id).await?;
    let merchant = store.merchant;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let past = catalog::price_history(&reading, merchant, product.id, PRICES_MAX).await?;
    let prices = past.into_iter().map(PriceRecord::from).collect();
    Ok(Envelope::new(PriceHistory { product_id: id, prices }))
}

async fn reviews(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<ProductId>,
) -> Result<Envelope<Reviews>, ErrorResponse> {
    let (product, store) = load_visible(&rest, &agent, id).await?;
    let merchant = store.merchant;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let found = catalog::reviews(&reading, merchant, product.id, REVIEWS_MAX).await?;
    let reviews = found.into_iter().map(ReviewRecord::from).collect();
    Ok(Envelope::new(Reviews { product_id: id, reviews }))
}
