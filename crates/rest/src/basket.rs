//! The basket that a permalink opens, for stores without links of their own.

use std::sync::Arc;

use axum::extract::State;
use carts::{CartLineRecord, Item, LINES_MAX, Quantity, TotalsRecord};
use database::Reading;
use merchants::PolicyRecord;
use primitives::{StoreSlug, const_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::store_access::STORE_ERRORS;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, InvalidInput, Path, Query, Rest, RestState, Routes,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let basket = Endpoint::get("/stores/{slug}/basket", Access::Public, basket)
        .operation_id("getBasket")
        .tag("stores")
        .summary("Price a basket of items")
        .description("Returns the current price of some items of a store. The tool `create_permalink` creates URLs of this endpoint for stores that have no cart links of their own. Nothing is stored or reserved.")
        .path::<StoreSlug>()
        .query::<BasketParameters>()
        .response::<Envelope<BasketRecord>>(200)
        .errors(carts::ESTIMATE_ERRORS)
        .errors(STORE_ERRORS);
    Routes::new().with(basket)
}

/// The items of the basket.
#[derive(Debug, Deserialize, JsonSchema)]
struct BasketParameters {
    #[schemars(
        length(min = 1, max = 5000),
        description = const_text!(
            "1 to ",
            LINES_MAX,
            " items, separated by commas, each `product_id:quantity` or `product_id.variant_id:quantity`.",
        )
    )]
    items: String,
}

/// Items of a store and their price.
#[derive(Debug, Serialize, JsonSchema)]
struct BasketRecord {
    /// Slug of the store.
    merchant_slug: String,
    /// The items.
    items: Vec<CartLineRecord>,
    /// Currency of all amounts.
    currency: String,
    /// Totals, without shipping and without taxes that prices do not include.
    totals: TotalsRecord,
    /// Policies of the store.
    policies: PolicyRecord,
}

async fn basket(
    State(rest): State<Arc<Rest>>,
    Path(slug): Path<StoreSlug>,
    Query(parameters): Query<BasketParameters>,
) -> Result<Envelope<BasketRecord>, ErrorResponse> {
    let store = rest.stores.admit(&slug).await?;
    let items: Option<Vec<Item>> =
        parameters.items.split(',').take(LINES_MAX + 1).map(item).collect();
    let items = items.filter(|items| items.len() <= LINES_MAX);
    let items = items.ok_or_else(|| InvalidInput::parameter::<BasketParameters>("items"))?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let quote = carts::estimate(&reading, &store, &items, None).await?;
    Ok(Envelope::new(BasketRecord {
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
