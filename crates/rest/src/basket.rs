//! What a permanent link of a store without a shop of its own opens.

use std::sync::Arc;

use axum::extract::State;
use carts::{CartLineRecord, Item, Quantity, TotalsRecord};
use database::Reading;
use merchants::PolicyRecord;
use primitives::{ErrorCode, StoreSlug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Access, Endpoint, Malformed, One, Opened, Path, Query, Refusal, Rest, Routes};

pub(crate) fn endpoints() -> Routes<Opened> {
    let basket = Endpoint::get("/stores/{slug}/basket", Access::Public, basket)
        .name("readBasket")
        .tag("stores")
        .summary("What some items of a store cost together")
        .explanation("The tool `create_permalink` makes such addresses for stores that have no links of their own. Nothing is kept or held.")
        .path::<StoreSlug>()
        .query::<BasketParameters>()
        .answer::<One<BasketRecord>>(200)
        .errors(&[ErrorCode::StoreNotFound, ErrorCode::StoreSuspended])
        .errors(&[ErrorCode::ProductNotFound, ErrorCode::OutOfStock]);
    Routes::new().with(basket)
}

/// What is in the basket.
#[derive(Debug, Deserialize, JsonSchema)]
struct BasketParameters {
    /// Items as `product_id:quantity` or `product_id.variant_id:quantity`, joined by commas; 1 to 50.
    #[schemars(length(min = 1, max = 5000))]
    items: String,
}

/// Some items of a store, and what they cost.
#[derive(Debug, Serialize, JsonSchema)]
struct BasketRecord {
    /// The store.
    merchant_slug: String,
    /// The items.
    items: Vec<CartLineRecord>,
    /// Currency of all amounts.
    currency: String,
    /// What they cost, without shipping and taxes on top.
    totals: TotalsRecord,
    /// What the store promises.
    policies: PolicyRecord,
}

async fn basket(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Query(parameters): Query<BasketParameters>,
) -> Result<One<BasketRecord>, Refusal> {
    let store = rest.stores.admit(&slug).await?;
    let items: Option<Vec<Item>> = parameters.items.split(',').take(51).map(item).collect();
    let items = items.filter(|items| items.len() <= carts::LINES_MAX);
    let items = items.ok_or_else(|| Malformed::parameter::<BasketParameters>("items"))?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let quote = carts::estimate(&reading, &store, &items, None).await?;
    Ok(One::new(BasketRecord {
        merchant_slug: store.slug.to_string(),
        items: quote.line_records(),
        currency: quote.currency.to_string(),
        totals: quote.totals(),
        policies: store.policy_record(),
    }))
}

fn item(text: &str) -> Option<Item> {
    let (what, quantity) = text.split_once(':')?;
    let (product, variant) = match what.split_once('.') {
        Some((product, variant)) => (product, Some(variant.parse().ok()?)),
        None => (what, None),
    };
    let quantity = Quantity::new(quantity.parse().ok()?).ok()?;
    Some(Item { product: product.parse().ok()?, variant, quantity })
}
