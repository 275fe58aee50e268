//! What became known of a product over time: the prices it had, and what buyers wrote.

use std::sync::Arc;

use axum::extract::State;
use catalog::{PriceHistory, PriceRecord, ReviewRecord, Reviews};
use database::Reading;
use primitives::Scope;

use crate::agent_products::{MISSING, load_for};
use crate::request::ProductPart;
use crate::{Access, AgentCaller, Endpoint, One, Opened, Path, Refusal, Rest, Routes};

/// Lines of a price history that are shown.
const PRICES_MAX: i64 = 200;
/// Reviews that are shown.
const REVIEWS_MAX: i64 = 50;

pub(crate) fn endpoints() -> Routes<Opened> {
    let prices = Endpoint::get(
        "/agent/products/{product_id}/prices",
        Access::Agent(Scope::AgentRead),
        prices,
    )
    .tool("get_price_history", 60)
    .name("readPrices")
    .tag("agent")
    .summary("The prices a product had, newest first")
    .path::<ProductPart>()
    .answer::<One<PriceHistory>>(200)
    .errors(&MISSING);
    let reviews = Endpoint::get(
        "/agent/products/{product_id}/reviews",
        Access::Agent(Scope::AgentRead),
        reviews,
    )
    .tool("get_product_reviews", 60)
    .name("readReviews")
    .tag("agent")
    .summary("What buyers wrote about a product, newest first")
    .explanation("As the merchant hands it on: `source` says who vouches for it.")
    .path::<ProductPart>()
    .answer::<One<Reviews>>(200)
    .errors(&MISSING);
    Routes::new().with(prices).with(reviews)
}

async fn prices(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(ProductPart(id)): Path<ProductPart>,
) -> Result<One<PriceHistory>, Refusal> {
    let (product, store) = load_for(&rest, &agent, id).await?;
    let merchant = store.merchant;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let past = catalog::price_history(&reading, merchant, product.id, PRICES_MAX).await?;
    let prices = past.into_iter().map(PriceRecord::from).collect();
    Ok(One::new(PriceHistory { product_id: id, prices }))
}

async fn reviews(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(ProductPart(id)): Path<ProductPart>,
) -> Result<One<Reviews>, Refusal> {
    let (product, store) = load_for(&rest, &agent, id).await?;
    let merchant = store.merchant;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let found = catalog::reviews(&reading, merchant, product.id, REVIEWS_MAX).await?;
    let reviews = found.into_iter().map(ReviewRecord::from).collect();
    Ok(One::new(Reviews { product_id: id, reviews }))
}
