//! What became known of a product over time: the prices it had, and what buyers wrote.

use axum::extract::State;
use catalog::{PastPrice, Review};
use database::Reading;
use primitives::{Money, ProductId, Timestamp, VariantId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::agent_products::{MISSING, load};
use crate::request::ProductPart;
use crate::{Access, Endpoint, One, Opened, Path, Refusal, Rest, Routes};

/// Lines of a price history that are shown.
const PRICES_MAX: i64 = 200;
/// Reviews that are shown.
const REVIEWS_MAX: i64 = 50;

pub(crate) fn endpoints() -> Routes<Opened> {
    let prices = Endpoint::get("/agent/products/{product_id}/prices", Access::Public, prices)
        .name("readPrices")
        .tag("agent")
        .summary("The prices a product had, newest first")
        .path::<ProductPart>()
        .answer::<One<PriceHistory>>(200)
        .errors(&MISSING);
    let reviews = Endpoint::get("/agent/products/{product_id}/reviews", Access::Public, reviews)
        .name("readReviews")
        .tag("agent")
        .summary("What buyers wrote about a product, newest first")
        .explanation("As the merchant hands it on: `source` says who vouches for it.")
        .path::<ProductPart>()
        .answer::<One<Reviews>>(200)
        .errors(&MISSING);
    Routes::new().with(prices).with(reviews)
}

/// The prices a product had.
#[derive(Debug, Serialize, JsonSchema)]
struct PriceHistory {
    /// The product.
    product_id: ProductId,
    /// Newest first.
    prices: Vec<PriceRecord>,
}

/// A price, and since when.
#[derive(Debug, Serialize, JsonSchema)]
struct PriceRecord {
    /// The variant it was the price of; left out: of the product as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    variant_id: Option<VariantId>,
    /// Decimal amount.
    price: f64,
    /// The price before, as the merchant said.
    #[serde(skip_serializing_if = "Option::is_none")]
    list_price: Option<f64>,
    /// Its currency.
    currency: String,
    /// Since when.
    since: Timestamp,
}

impl From<PastPrice> for PriceRecord {
    fn from(past: PastPrice) -> Self {
        let currency = past.price.currency();
        let decimal = |minor| Money::new(minor, currency).to_decimal();
        Self {
            variant_id: past.variant,
            price: past.price.to_decimal(),
            list_price: past.list_price_minor.map(decimal),
            currency: currency.to_string(),
            since: past.at,
        }
    }
}

async fn prices(
    State(rest): State<Rest>,
    Path(ProductPart(id)): Path<ProductPart>,
) -> Result<One<PriceHistory>, Refusal> {
    let merchant = catalog::owner(&rest.database, id).await?;
    let (product, _) = load(&rest, merchant, id).await?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let past = catalog::price_history(&reading, merchant, product.id, PRICES_MAX).await?;
    let prices = past.into_iter().map(PriceRecord::from).collect();
    Ok(One::new(PriceHistory { product_id: id, prices }))
}

/// What buyers wrote about a product.
#[derive(Debug, Serialize, JsonSchema)]
struct Reviews {
    /// The product.
    product_id: ProductId,
    /// Newest first.
    reviews: Vec<ReviewRecord>,
}

/// What a buyer wrote.
#[derive(Debug, Serialize, JsonSchema)]
struct ReviewRecord {
    /// 1 to 5.
    stars: i64,
    /// The headline; empty if there is none.
    title: String,
    /// The text; empty if there is none.
    text: String,
    /// A name to show; empty if there is none.
    author: String,
    /// When it was written.
    written_at: Timestamp,
    /// Who vouches for it: `merchant`, unverified.
    source: &'static str,
}

impl From<Review> for ReviewRecord {
    fn from(review: Review) -> Self {
        Self {
            stars: i64::from(review.stars),
            title: review.title,
            text: review.text,
            author: review.author,
            written_at: review.written_at,
            source: "merchant",
        }
    }
}

async fn reviews(
    State(rest): State<Rest>,
    Path(ProductPart(id)): Path<ProductPart>,
) -> Result<One<Reviews>, Refusal> {
    let merchant = catalog::owner(&rest.database, id).await?;
    let (product, _) = load(&rest, merchant, id).await?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    let found = catalog::reviews(&reading, merchant, product.id, REVIEWS_MAX).await?;
    let reviews = found.into_iter().map(ReviewRecord::from).collect();
    Ok(One::new(Reviews { product_id: id, reviews }))
}
