//! Carts of agents, at any store.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use carts::{
    Buyer, CART_LIFETIME, CODES_MAX, CartOwner, CartRecord, CartRef, CartUpdate, Destination, Edit,
    ItemRequest, LINES_MAX, NewCart, PricedCart,
};
use database::Reading;
use identity::Agent;
use limits::QuotaClass;
use merchants::Store;
use primitives::{CartId, Scope, StoreSlug, const_text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::idempotency::IdempotencyKeyHeader;
use crate::store_access::{Operation, SLUG_ERRORS, STORE_ERRORS, StoreTarget, admit};
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

const ACCESS: Access = Access::Agent(Scope::AgentCart);

pub(crate) fn endpoints() -> Routes<RestState> {
    let create = Endpoint::post("/agent/cart", ACCESS, create)
        .tool("create_cart", QuotaClass::CartWrite)
        .writes()
        .operation_id("createCart")
        .tag("cart")
        .summary("Create a cart")
        .description(const_text!(
            "Creates a cart with items of one store. Stock is validated but not reserved; `messages` lists adjustments, such as a reduced quantity. The cart expires ",
            (CART_LIFETIME.as_secs() / 60),
            " minutes after its creation.",
        ))
        .body::<CreateCartRequest>()
        .response::<Envelope<CartRecord>>(201)
        .errors(carts::CREATE_ERRORS)
        .errors(SLUG_ERRORS);
    let read = Endpoint::get("/agent/cart/{cart_id}", ACCESS, read)
        .tool("get_cart", QuotaClass::Discovery)
        .operation_id("getCart")
        .tag("cart")
        .summary("Get a cart")
        .description(
            "Returns a cart that was created with this key, with current prices and stock.",
        )
        .path::<CartId>()
        .response::<Envelope<CartRecord>>(200)
        .errors(carts::READ_ERRORS)
        .errors(STORE_ERRORS);
    let replace = Endpoint::put("/agent/cart/{cart_id}", ACCESS, replace)
        .tool("update_cart", QuotaClass::CartWrite)
        .writes()
        .operation_id("replaceCartItems")
        .tag("cart")
        .summary("Replace the items of a cart")
        .description("The items in the body replace all items of the cart.")
        .path::<CartId>()
        .body::<ReplaceItemsRequest>()
        .response::<Envelope<CartRecord>>(200)
        .errors(carts::REPLACE_ERRORS)
        .errors(STORE_ERRORS);
    Routes::new().with(create).with(read).with(replace).merge(change_endpoints())
}

fn change_endpoints() -> Routes<RestState> {
    let update = Endpoint::patch("/agent/cart/{cart_id}", ACCESS, update)
        .tool("update_cart", QuotaClass::CartWrite)
        .writes()
        .operation_id("updateCart")
        .tag("cart")
        .summary("Update a cart")
        .description("Sets the destination, the buyer, the shipping option or the discount codes. Fields in the body are replaced, all others stay unchanged. The update is atomic.")
        .path::<CartId>()
        .body::<UpdateCartRequest>()
        .response::<Envelope<CartRecord>>(200)
        .errors(carts::UPDATE_ERRORS)
        .errors(STORE_ERRORS);
    let cancel = Endpoint::delete("/agent/cart/{cart_id}", ACCESS, cancel)
        .tool("cancel_cart", QuotaClass::CartWrite)
        .writes()
        .operation_id("cancelCart")
        .tag("cart")
        .summary("Cancel a cart")
        .description("Idempotent: canceling a canceled cart changes nothing.")
        .path::<CartId>()
        .response::<Envelope<CartRecord>>(200)
        .errors(carts::CANCEL_ERRORS)
        .errors(STORE_ERRORS);
    Routes::new().with(update).with(cancel)
}

/// A new cart.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({
    "merchant_slug": "demo-store",
    "items": [{ "product_id": "prod_6c52b5310f215b188c8467964820dfad", "quantity": 1 }],
})))]
struct CreateCartRequest {
    /// Slug of the store.
    #[schemars(length(min = 1, max = StoreSlug::LENGTH_MAX))]
    merchant_slug: String,
    #[schemars(length(min = 1, max = LINES_MAX), description = const_text!("The items, 1 to ", LINES_MAX, " lines."))]
    items: Vec<ItemRequest>,
    /// Shipping destination. The country alone is enough to price shipping and tax.
    destination: Option<Destination>,
    /// The buyer.
    buyer: Option<Buyer>,
    /// Discount codes to apply.
    #[schemars(length(max = CODES_MAX))]
    discount_codes: Option<Vec<String>>,
}

/// The new items of a cart.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplaceItemsRequest {
    #[schemars(
        length(min = 1, max = LINES_MAX),
        description = const_text!("The items that replace all others, 1 to ", LINES_MAX, " lines.")
    )]
    items: Vec<ItemRequest>,
    /// Apply the change only if the cart still has this `version`.
    if_version: Option<i64>,
}

/// Changes to a cart. Omitted fields stay unchanged.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateCartRequest {
    /// Shipping destination.
    destination: Option<Destination>,
    /// The buyer.
    buyer: Option<Buyer>,
    /// Shipping option: the `id` of one of the cart's `shipping_options`.
    #[schemars(length(min = 1, max = 100))]
    #[schemars(extend("x-former-names" = ["option_id", "selected_shipping_option_id"]))]
    shipping_option_id: Option<String>,
    /// Discount codes that replace all others.
    #[schemars(length(max = CODES_MAX))]
    discount_codes: Option<Vec<String>>,
    /// Apply the change only if the cart still has this `version`.
    if_version: Option<i64>,
}

impl UpdateCartRequest {
    fn edits(&self) -> Vec<Edit> {
        let update = CartUpdate {
            destination: self.destination.clone(),
            buyer: self.buyer.clone(),
            codes: self.discount_codes.clone(),
            shipping_option: self.shipping_option_id.clone(),
        };
        update.edits()
    }
}

/// Returns the agent as the owner of its carts.
pub(crate) fn owner(agent: &Agent) -> CartOwner {
    CartOwner { key: agent.key, name: agent.name.clone(), is_sandbox: agent.is_sandbox() }
}

/// Returns the response with a cart.
fn record(rest: &Rest, store: &Store, cart: PricedCart) -> Envelope<CartRecord> {
    Envelope::new(rest.payment_gateway.with_store_messages(cart, store).record(store))
}

async fn create(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CreateCartRequest>,
) -> Result<(StatusCode, Envelope<CartRecord>), ErrorResponse> {
    let target = StoreTarget::Slug(&request.merchant_slug);
    let store = admit(&rest, &agent, target, Operation::Write).await?;
    let idempotency_key = idempotency_key.key(store.merchant, &agent, &request)?;
    let new = NewCart {
        items: ItemRequest::parse(&request.items)?,
        destination: request.destination,
        buyer: request.buyer,
        codes: request.discount_codes.unwrap_or_default(),
        shipping_option: None,
    };
    let owner = owner(&agent);
    let cart = carts::create(&rest.database, &store, &owner, new, idempotency_key.as_ref()).await?;
    Ok((StatusCode::CREATED, record(&rest, &store, cart)))
}

async fn read(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CartId>,
) -> Result<Envelope<CartRecord>, ErrorResponse> {
    let store = admit(&rest, &agent, StoreTarget::Cart(id), Operation::Read).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let cart = carts::cart(&reading, &store, id, Some(agent.key)).await?;
    Ok(record(&rest, &store, cart))
}

/// Changes a cart of the agent.
async fn edit(
    (rest, agent, idempotency_key): (&Rest, &AgentCaller, &IdempotencyKeyHeader),
    (id, version): (CartId, Option<i64>),
    edits: &[Edit],
    body: &impl Serialize,
) -> Result<Envelope<CartRecord>, ErrorResponse> {
    let store = admit(rest, agent, StoreTarget::Cart(id), Operation::Write).await?;
    let idempotency_key = idempotency_key.key(store.merchant, agent, body)?;
    let cart = CartRef { agent: agent.key, id };
    let changed =
        carts::change(&rest.database, &store, cart, version, edits, idempotency_key.as_ref())
            .await?;
    Ok(record(rest, &store, changed))
}

async fn replace(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CartId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<ReplaceItemsRequest>,
) -> Result<Envelope<CartRecord>, ErrorResponse> {
    let edits = [Edit::Replace(ItemRequest::parse(&request.items)?)];
    edit((&rest, &agent, &idempotency_key), (id, request.if_version), &edits, &request).await
}

async fn update(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CartId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<UpdateCartRequest>,
) -> Result<Envelope<CartRecord>, ErrorResponse> {
    let edits = request.edits();
    edit((&rest, &agent, &idempotency_key), (id, request.if_version), &edits, &request).await
}

async fn cancel(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CartId>,
    idempotency_key: IdempotencyKeyHeader,
) -> Result<Envelope<CartRecord>, ErrorResponse> {
    edit((&rest, &agent, &idempotency_key), (id, None), &[Edit::Cancel], &()).await
}
