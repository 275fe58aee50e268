//! Updates of prices and stock, without whole products.

use std::sync::Arc;

use axum::extract::State;
use catalog::{Amount, OfferChange, OfferUpdate, OfferUpdateOutcome, StockStatus};
use database::Work;
use identity::StoreScope;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;

use crate::merchant_products::{
    ITEMS_MAX, ItemResult, ItemStatus, PushResult, count_items, parse_item,
};
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, Rest, RestState, Routes, StoreCaller,
};

pub(crate) fn endpoints() -> Routes<RestState> {
    let inventory = Endpoint::patch("/merchant/inventory", Access::Store(StoreScope::Catalog), update_inventory)
        .operation_id("updateInventory")
        .tag("merchant")
        .summary("Update stock")
        .description(
            "Up to 500 updates, applied in order. Each succeeds or fails on its own; `results` has one entry per \
             item.",
        )
        .body_with_items::<InventoryRequest>("items")
        .response::<Envelope<PushResult>>(200);
    let prices = Endpoint::patch("/merchant/prices", Access::Store(StoreScope::Catalog), update_prices)
        .operation_id("updatePrices")
        .tag("merchant")
        .summary("Update prices")
        .description(
            "Up to 500 updates, applied in order. Each succeeds or fails on its own; `results` has one entry per \
             item. Every new price is added to the price history.",
        )
        .body_with_items::<PricesRequest>("items")
        .response::<Envelope<PushResult>>(200);
    Routes::new().with(inventory).with(prices)
}

/// Stock updates.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "items": [
    { "external_id": "MUG-1", "stock_quantity": 12 },
    { "external_id": "SHIRT-7", "sku": "SHIRT-7-M", "stock_status": "backorder" },
] })))]
struct InventoryRequest {
    /// Up to 500 updates.
    #[schemars(with = "Vec<InventoryItem>", length(max = ITEMS_MAX))]
    items: Vec<Box<RawValue>>,
}

/// The new stock of a product or a variant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InventoryItem {
    /// The merchant's own identifier of the product.
    external_id: String,
    /// SKU of the variant; omitted for a product without variants.
    sku: Option<String>,
    /// Units in stock. Omitted: unknown; `stock_status` is then required.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    stock_quantity: Option<i32>,
    /// Stock status; omitted: follows from the quantity.
    stock_status: Option<StockStatus>,
}

/// Price updates.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "items": [
    { "external_id": "MUG-1", "price": "9.90", "list_price": "12.50" },
] })))]
struct PricesRequest {
    /// Up to 500 updates.
    #[schemars(with = "Vec<PriceItem>", length(max = ITEMS_MAX))]
    items: Vec<Box<RawValue>>,
}

/// The new price of a product or a variant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PriceItem {
    /// The merchant's own identifier of the product.
    external_id: String,
    /// SKU of the variant; omitted for a product without variants.
    sku: Option<String>,
    /// Current price.
    price: Amount,
    /// Regular price that a discount refers to; omitted: none.
    list_price: Option<Amount>,
    /// Expected currency of the product; the update fails if it differs.
    currency: Option<String>,
}

async fn update_inventory(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<InventoryRequest>,
) -> Result<Envelope<PushResult>, ErrorResponse> {
    update_offers(&rest, &caller, &request.items, |item: InventoryItem| OfferUpdate {
        external_id: item.external_id,
        sku: item.sku,
        change: OfferChange::Stock { quantity: item.stock_quantity, status: item.stock_status },
    })
    .await
}

async fn update_prices(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<PricesRequest>,
) -> Result<Envelope<PushResult>, ErrorResponse> {
    update_offers(&rest, &caller, &request.items, |item: PriceItem| OfferUpdate {
        external_id: item.external_id,
        sku: item.sku,
        change: OfferChange::Price {
            price: item.price,
            list_price: item.list_price,
            currency: item.currency,
        },
    })
    .await
}

async fn update_offers<T: DeserializeOwned + JsonSchema>(
    rest: &Rest,
    caller: &StoreCaller,
    items: &[Box<RawValue>],
    update: impl Fn(T) -> OfferUpdate,
) -> Result<Envelope<PushResult>, ErrorResponse> {
    count_items(&rest.database, caller.merchant, items.iter().map(|item| item.get().len())).await?;
    let mut results = vec![None; items.len()];
    let (mut indexes, mut updates) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        match parse_item(item) {
            Ok(item) => {
                indexes.push(index);
                updates.push(update(item));
            }
            Err(answer) => results[index] = Some(answer),
        }
    }
    let mut work = Work::for_store(&rest.database, caller.merchant).await?;
    let outcomes = catalog::update_offers(&mut work, caller.merchant, &updates).await?;
    if outcomes.contains(&OfferUpdateOutcome::Updated) {
        catalog::schedule_catalog_stats(&mut work, caller.merchant).await?;
    }
    work.commit().await?;
    for ((index, update), outcome) in indexes.into_iter().zip(updates).zip(outcomes) {
        results[index] = Some(ItemResult::updated(update.external_id, outcome));
    }
    Ok(Envelope::new(PushResult::of(results.into_iter().flatten().collect())))
}

impl ItemResult {
    fn updated(external_id: String, outcome: OfferUpdateOutcome) -> Self {
        let (status, faults) = match outcome {
            OfferUpdateOutcome::Updated => (ItemStatus::Updated, Vec::new()),
            OfferUpdateOutcome::Unchanged => (ItemStatus::Unchanged, Vec::new()),
            OfferUpdateOutcome::NotFound => (ItemStatus::NotFound, Vec::new()),
            OfferUpdateOutcome::Rejected(error) => (ItemStatus::Failed, vec![error]),
        };
        Self {
            external_id: Some(external_id),
            status,
            product_id: None,
            faults,
            warnings: Vec::new(),
        }
    }
}
