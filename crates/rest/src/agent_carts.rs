//! Carts, as agents make them across stores.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use carts::{Buyer, CartError, CartRecord, Destination, Edit, Item, NewCart, Owner, Quantity};
use database::Reading;
use identity::Agent;
use merchants::Store;
use primitives::{CartId, ErrorCode, ProductId, Scope, StoreSlug, VariantId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::once::Once;
use crate::request::CartPart;
use crate::{Access, AgentCaller, Endpoint, Json, One, Opened, Path, Refusal, Rest, Routes};

const ACCESS: Access = Access::Agent(Scope::AgentCart);
/// What a cart that is named can be refused with.
const NAMED: [ErrorCode; 2] = [ErrorCode::CartNotFound, ErrorCode::StoreSuspended];
/// What changing one can be refused with besides.
const CHANGED: [ErrorCode; 3] =
    [ErrorCode::CartExpired, ErrorCode::CartClosed, ErrorCode::InvalidStatusTransition];
/// What items can be refused with.
const ITEMS: [ErrorCode; 2] = [ErrorCode::ProductNotFound, ErrorCode::OutOfStock];

pub(crate) fn endpoints() -> Routes<Opened> {
    let create = Endpoint::post("/agent/cart", ACCESS, create)
        .tool("create_cart", 20) // spec §8
        .writes()
        .name("createCart")
        .tag("cart")
        .summary("Make a cart at a store")
        .explanation("Stock is looked at and not held; `messages` say what had to be adjusted. A cart lasts thirty minutes from its creation.")
        .body::<CartRequest>()
        .answer::<One<CartRecord>>(201)
        .errors(&[ErrorCode::InvalidSlug, ErrorCode::StoreNotFound, ErrorCode::StoreSuspended])
        .errors(&ITEMS);
    let read = Endpoint::get("/agent/cart/{cart_id}", ACCESS, read)
        .tool("get_cart", 60)
        .name("readCart")
        .tag("cart")
        .summary("A cart made with this key, with what it costs now")
        .path::<CartPart>()
        .answer::<One<CartRecord>>(200)
        .errors(&NAMED);
    let replace = Endpoint::put("/agent/cart/{cart_id}", ACCESS, replace)
        .tool("update_cart", 20)
        .writes()
        .name("replaceCartItems")
        .tag("cart")
        .summary("Other items in the place of all")
        .path::<CartPart>()
        .body::<ReplaceRequest>()
        .answer::<One<CartRecord>>(200)
        .errors(&NAMED)
        .errors(&CHANGED)
        .errors(&ITEMS);
    Routes::new().with(create).with(read).with(replace).merge(changes())
}

fn changes() -> Routes<Opened> {
    let change = Endpoint::patch("/agent/cart/{cart_id}", ACCESS, change)
        .tool("update_cart", 20)
        .writes()
        .name("changeCart")
        .tag("cart")
        .summary("Where it goes and how, who buys, which codes")
        .explanation("What is named is replaced, the rest stays. All of it is done, or nothing.")
        .path::<CartPart>()
        .body::<ChangeRequest>()
        .answer::<One<CartRecord>>(200)
        .errors(&NAMED)
        .errors(&CHANGED);
    let cancel = Endpoint::delete("/agent/cart/{cart_id}", ACCESS, cancel)
        .tool("cancel_cart", 20)
        .writes()
        .name("cancelCart")
        .tag("cart")
        .summary("Throw a cart away; doing it again changes nothing")
        .path::<CartPart>()
        .answer::<One<CartRecord>>(200)
        .errors(&NAMED)
        .errors(&CHANGED);
    Routes::new().with(change).with(cancel)
}

/// Something to put into a cart.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CartItem {
    /// The product.
    product_id: ProductId,
    /// One form of it; needed if the product has variants.
    variant_id: Option<VariantId>,
    /// How many; 1 if left out.
    #[schemars(range(min = 1, max = 999))]
    quantity: Option<i64>,
}

/// What a cart is made of.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({
    "merchant_slug": "demo-store",
    "items": [{ "product_id": "prod_6c52b5310f215b188c8467964820dfad", "quantity": 1 }],
})))]
struct CartRequest {
    /// The store.
    #[schemars(length(min = 1, max = 63))]
    merchant_slug: String,
    /// What goes into it, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<CartItem>,
    /// Where it goes, if that is known; a country is enough for a price.
    destination: Option<Destination>,
    /// Who buys, if that is known.
    buyer: Option<Buyer>,
    /// Codes for discounts.
    #[schemars(length(max = 5))]
    discount_codes: Option<Vec<String>>,
}

/// What is in a cart from now on.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReplaceRequest {
    /// What is in it then, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Vec<CartItem>,
    /// Change it only if nobody did since: the `version` you saw.
    if_version: Option<i64>,
}

/// What is to be different about a cart.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeRequest {
    /// Where it goes.
    destination: Option<Destination>,
    /// Who buys.
    buyer: Option<Buyer>,
    /// How it goes there: the id of one of `shipping_options`.
    #[schemars(length(min = 1, max = 100))]
    shipping_option_id: Option<String>,
    /// Codes for discounts, in the place of all others.
    #[schemars(length(max = 5))]
    discount_codes: Option<Vec<String>>,
    /// Change it only if nobody did since: the `version` you saw.
    if_version: Option<i64>,
}

impl ChangeRequest {
    fn edits(&self) -> Vec<Edit> {
        let mut edits = Vec::new();
        edits.extend(self.destination.clone().map(Edit::Destination));
        edits.extend(self.buyer.clone().map(Edit::Buyer));
        edits.extend(self.discount_codes.clone().map(Edit::Codes));
        edits.extend(self.shipping_option_id.clone().map(Edit::Shipping));
        edits
    }
}

pub(crate) fn items(wanted: &[CartItem]) -> Result<Vec<Item>, CartError> {
    let item = |wanted: &CartItem| {
        let quantity = Quantity::new(wanted.quantity.unwrap_or(1))?;
        Ok(Item { product: wanted.product_id, variant: wanted.variant_id, quantity })
    };
    wanted.iter().map(item).collect()
}

/// Whose carts these are.
pub(crate) fn owner(agent: &Agent) -> Owner {
    Owner { key: agent.key, name: agent.name.clone(), is_sandbox: agent.is_sandbox() }
}

async fn create(
    AgentCaller(agent): AgentCaller,
    State(rest): State<Arc<Rest>>,
    once: Once,
    Json(request): Json<CartRequest>,
) -> Result<(StatusCode, One<CartRecord>), Refusal> {
    let slug: StoreSlug = request.merchant_slug.parse()?;
    let store = rest.stores.admit(&slug).await?;
    store.admit_write(agent.is_sandbox())?;
    agent.require_store(store.merchant)?;
    let once = once.key(store.merchant, &agent, &request)?;
    let new = NewCart {
        items: items(&request.items)?,
        destination: request.destination,
        buyer: request.buyer,
        codes: request.discount_codes.unwrap_or_default(),
    };
    let owner = owner(&agent);
    let cart = carts::create(&rest.database, &store, &owner, new, once.as_ref()).await?;
    Ok((StatusCode::CREATED, One::new(cart.record(&store))))
}

/// The store of a cart of this agent.
async fn store_of(
    rest: &Rest,
    AgentCaller(agent): &AgentCaller,
    cart: CartId,
) -> Result<Arc<Store>, Refusal> {
    let merchant = carts::owner(&rest.database, cart, agent.key).await?;
    // A key may lose a store while it has a cart there.
    agent.require_store(merchant).map_err(|_| CartError::NotFound)?;
    let store = rest.stores.find_merchant(merchant).await?;
    store.admit()?;
    Ok(store)
}

async fn read(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(CartPart(id)): Path<CartPart>,
) -> Result<One<CartRecord>, Refusal> {
    let store = store_of(&rest, &agent, id).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let cart = carts::cart(&reading, &store, id, Some(agent.0.key)).await?;
    Ok(One::new(cart.record(&store)))
}

/// Changes a cart of this agent.
async fn edit(
    (rest, agent, once): (&Rest, &AgentCaller, &Once),
    (id, version): (CartId, Option<i64>),
    edits: &[Edit],
    body: &impl Serialize,
) -> Result<One<CartRecord>, Refusal> {
    let store = store_of(rest, agent, id).await?;
    store.admit_write(agent.0.is_sandbox())?;
    let once = once.key(store.merchant, &agent.0, body)?;
    let which = (agent.0.key, id);
    let changed =
        carts::change(&rest.database, &store, which, version, edits, once.as_ref()).await?;
    Ok(One::new(changed.record(&store)))
}

async fn replace(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(CartPart(id)): Path<CartPart>,
    once: Once,
    Json(request): Json<ReplaceRequest>,
) -> Result<One<CartRecord>, Refusal> {
    let edits = [Edit::Replace(items(&request.items)?)];
    edit((&rest, &agent, &once), (id, request.if_version), &edits, &request).await
}

async fn change(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(CartPart(id)): Path<CartPart>,
    once: Once,
    Json(request): Json<ChangeRequest>,
) -> Result<One<CartRecord>, Refusal> {
    let edits = request.edits();
    edit((&rest, &agent, &once), (id, request.if_version), &edits, &request).await
}

async fn cancel(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(CartPart(id)): Path<CartPart>,
    once: Once,
) -> Result<One<CartRecord>, Refusal> {
    edit((&rest, &agent, &once), (id, None), &[Edit::Cancel], &()).await
}
