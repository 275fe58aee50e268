//! Prices and stock, changed without sending whole products.

use std::sync::Arc;

use axum::extract::State;
use catalog::{Amount, Change, Revised, Revision, StockStatus};
use database::Work;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;

use crate::merchant_products::{ITEMS_MAX, ItemAnswer, ItemStatus, PushAnswer, TooMany, read_item};
use crate::{Access, Endpoint, Json, One, Opened, Refusal, Rest, Routes, StoreCaller};

pub(crate) fn endpoints() -> Routes<Opened> {
    let inventory = Endpoint::patch("/merchant/inventory", Access::Store, change_inventory)
        .name("changeInventory")
        .tag("merchant")
        .summary("Change stock")
        .explanation(
            "Up to 500 changes, carried out in their order, without sending whole products. Each is taken or \
             refused by itself.",
        )
        .body::<InventoryRequest>()
        .answer::<One<PushAnswer>>(200);
    let prices = Endpoint::patch("/merchant/prices", Access::Store, change_prices)
        .name("changePrices")
        .tag("merchant")
        .summary("Change prices")
        .explanation(
            "Up to 500 changes, carried out in their order, each taken or refused by itself. Each new price \
             becomes a line of the price history.",
        )
        .body::<PricesRequest>()
        .answer::<One<PushAnswer>>(200);
    Routes::new().with(inventory).with(prices)
}

/// Changes of stock.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "items": [
    { "external_id": "MUG-1", "stock_quantity": 12 },
    { "external_id": "SHIRT-7", "sku": "SHIRT-7-M", "stock_status": "backorder" },
] })))]
struct InventoryRequest {
    /// Up to 500 changes.
    #[schemars(with = "Vec<InventoryItem>", length(max = 500))]
    items: Vec<Box<RawValue>>,
}

/// The stock of a product or a variant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct InventoryItem {
    /// The merchant's own identifier of the product.
    external_id: String,
    /// The variant; left out for a product without variants.
    sku: Option<String>,
    /// How many there are. Left out: nobody knows; `stock_status` is required then.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    stock_quantity: Option<i32>,
    /// Whether it can be had. Left out: follows from the quantity.
    stock_status: Option<StockStatus>,
}

/// Changes of prices.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "items": [
    { "external_id": "MUG-1", "price": "9.90", "list_price": "12.50" },
] })))]
struct PricesRequest {
    /// Up to 500 changes.
    #[schemars(with = "Vec<PriceItem>", length(max = 500))]
    items: Vec<Box<RawValue>>,
}

/// The price of a product or a variant.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PriceItem {
    /// The merchant's own identifier of the product.
    external_id: String,
    /// The variant; left out for a product without variants.
    sku: Option<String>,
    /// What it costs now.
    price: Amount,
    /// What it cost before. Left out: none.
    list_price: Option<Amount>,
    /// The product's currency, if you want it checked.
    currency: Option<String>,
}

async fn change_inventory(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<InventoryRequest>,
) -> Result<One<PushAnswer>, Refusal> {
    revise(&rest, &caller, &request.items, |item: InventoryItem| Revision {
        external_id: item.external_id,
        sku: item.sku,
        change: Change::Stock { quantity: item.stock_quantity, status: item.stock_status },
    })
    .await
}

async fn change_prices(
    caller: StoreCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<PricesRequest>,
) -> Result<One<PushAnswer>, Refusal> {
    revise(&rest, &caller, &request.items, |item: PriceItem| Revision {
        external_id: item.external_id,
        sku: item.sku,
        change: Change::Price {
            price: item.price,
            list_price: item.list_price,
            currency: item.currency,
        },
    })
    .await
}

async fn revise<T: DeserializeOwned + JsonSchema>(
    rest: &Rest,
    caller: &StoreCaller,
    items: &[Box<RawValue>],
    revision: impl Fn(T) -> Revision,
) -> Result<One<PushAnswer>, Refusal> {
    if items.len() > ITEMS_MAX {
        return Err(TooMany { field: "items" }.into());
    }
    let mut results = vec![None; items.len()];
    let (mut indexes, mut revisions) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        match read_item(item) {
            Ok(item) => {
                indexes.push(index);
                revisions.push(revision(item));
            }
            Err(answer) => results[index] = Some(answer),
        }
    }
    let mut work = Work::for_store(&rest.database, caller.merchant).await?;
    let revised = catalog::revise(&mut work, caller.merchant, &revisions).await?;
    if revised.contains(&Revised::Updated) {
        catalog::take_stock_soon(&mut work, caller.merchant).await?;
    }
    work.commit().await?;
    for ((index, revision), revised) in indexes.into_iter().zip(revisions).zip(revised) {
        results[index] = Some(ItemAnswer::revised(revision.external_id, revised));
    }
    Ok(One::new(PushAnswer::of(results.into_iter().flatten().collect())))
}

impl ItemAnswer {
    fn revised(external_id: String, revised: Revised) -> Self {
        let (status, faults) = match revised {
            Revised::Updated => (ItemStatus::Updated, Vec::new()),
            Revised::Unchanged => (ItemStatus::Unchanged, Vec::new()),
            Revised::NotFound => (ItemStatus::NotFound, Vec::new()),
            Revised::Refused(fault) => (ItemStatus::Failed, vec![fault]),
        };
        Self { external_id: Some(external_id), status, product_id: None, faults }
    }
}
