//! Checkouts, as agents make them across stores, and what merchants report of them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use carts::{Buyer, CartError, Destination, Edit, NewCart, QuoteHash};
use checkout::{CheckoutError, Complete, Counter, NewSession, ProofFault, SessionRecord, Update};
use database::Reading;
use identity::Agent;
use merchants::Store;
use payments::PaymentMethod;
use primitives::{
    CartId, CheckoutId, ConfirmationId, Details, ErrorCode, Problem, Scope, StoreSlug,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent_carts::{CartItem, items, owner};
use crate::once::Once;
use crate::request::{CheckoutPart, Unfit};
use crate::{Access, AgentCaller, Endpoint, Json, One, Opened, Path, Refusal, Rest, Routes};

const ACCESS: Access = Access::Agent(Scope::AgentCheckout);
/// Bytes of what an agent wants to find again.
const METADATA_MAX: usize = 4096;

/// What a session that is named can be refused with.
const NAMED: [ErrorCode; 2] = [ErrorCode::NotFound, ErrorCode::StoreSuspended];
/// What buying can be refused with.
const BOUGHT: [ErrorCode; 10] = [
    ErrorCode::CartNotFound,
    ErrorCode::CartExpired,
    ErrorCode::CartClosed,
    ErrorCode::CheckoutNotReady,
    ErrorCode::OutOfStock,
    ErrorCode::PriceChanged,
    ErrorCode::ConfirmationRequired,
    ErrorCode::UnsupportedPaymentMethod,
    ErrorCode::StoreSuspended,
    ErrorCode::InvalidStatusTransition,
];

pub(crate) fn endpoints() -> Routes<Opened> {
    let complete = Endpoint::post("/agent/checkout", ACCESS, complete)
        .tool("complete_checkout", 10) // spec §8
        .writes()
        .name("createCheckout")
        .tag("checkout")
        .summary("Check a cart out, or some items")
        .explanation("Prices, stock and the store's standing are looked at once more, the items are held for thirty minutes, and `checkout_url` is where a person reviews and pays. No payment is processed. The same cart gives the same session.")
        .body::<CheckoutRequest>()
        .answer::<One<SessionRecord>>(201)
        .errors(&BOUGHT)
        .errors(&[ErrorCode::ProductNotFound, ErrorCode::StoreNotFound, ErrorCode::InvalidSlug]);
    let read = Endpoint::get("/agent/checkout/{checkout_id}", ACCESS, read)
        .tool("get_checkout", 60)
        .name("readCheckout")
        .tag("checkout")
        .summary("A checkout made with this key")
        .path::<CheckoutPart>()
        .answer::<One<SessionRecord>>(200)
        .errors(&NAMED);
    let change = Endpoint::patch("/agent/checkout/{checkout_id}", ACCESS, change)
        .tool("update_checkout", 10)
        .writes()
        .name("changeCheckout")
        .tag("checkout")
        .summary("Where a checkout goes and how, who buys, which codes")
        .explanation("What is named is replaced, the rest stays. If a person was about to pay, what was held goes back and it has to be checked out anew.")
        .path::<CheckoutPart>()
        .body::<ChangeRequest>()
        .answer::<One<SessionRecord>>(200)
        .errors(&NAMED)
        .errors(&BOUGHT);
    let cancel = Endpoint::post("/agent/checkout/{checkout_id}/cancel", ACCESS, cancel)
        .tool("cancel_checkout", 10)
        .writes()
        .name("cancelCheckout")
        .tag("checkout")
        .summary("Call a checkout off; doing it again changes nothing")
        .path::<CheckoutPart>()
        .body::<CancelRequest>()
        .answer::<One<SessionRecord>>(200)
        .errors(&NAMED)
        .errors(&[ErrorCode::InvalidStatusTransition]);
    Routes::new().with(complete).with(read).with(change).with(cancel)
}

/// A purchase.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "cart_id": "cart_00000000000000000000000000000001" })))]
struct CheckoutRequest {
    /// The cart; or name a store and items.
    cart_id: Option<CartId>,
    /// The store of the items.
    #[schemars(length(min = 1, max = 63))]
    merchant_slug: Option<String>,
    /// What is bought, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Option<Vec<CartItem>>,
    /// How it will be paid: stripe, x402 or paypal.
    #[schemars(length(max = 20))]
    payment_method: Option<String>,
    /// Who buys.
    buyer: Option<Buyer>,
    /// Where it goes.
    shipping_address: Option<Destination>,
    /// How it goes there; for items, the cheapest way if left out.
    #[schemars(length(min = 1, max = 100))]
    shipping_option_id: Option<String>,
    /// Codes for discounts.
    #[schemars(length(max = 5))]
    discount_codes: Option<Vec<String>>,
    /// The proof that a person agreed.
    confirmation: Option<ProofRequest>,
    /// Where the buyer goes afterwards.
    #[schemars(length(max = 2000))]
    return_url: Option<String>,
    /// What you want to find again: an object of at most 4,096 bytes.
    #[schemars(extend("type" = "object"))]
    metadata: Option<Value>,
}

/// The proof that a person agreed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProofRequest {
    /// `attested` needs nothing more; `mandate` is not accepted yet.
    #[schemars(extend("enum" = ["attested", "elicited", "hosted", "mandate"]))]
    level: Option<String>,
    /// The question the person answered.
    confirmation_id: Option<ConfirmationId>,
    /// What the person agreed to.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    quote_hash: Option<String>,
}

/// What is to be different about a checkout.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeRequest {
    /// Where it goes.
    shipping_address: Option<Destination>,
    /// Who buys.
    buyer: Option<Buyer>,
    /// How it goes there.
    #[schemars(length(min = 1, max = 100))]
    shipping_option_id: Option<String>,
    /// Codes for discounts, in the place of all others.
    #[schemars(length(max = 5))]
    discount_codes: Option<Vec<String>>,
    /// How it will be paid: stripe, x402 or paypal.
    #[schemars(length(max = 20))]
    payment_method: Option<String>,
}

/// Why a checkout is called off.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelRequest {
    /// A short name such as price, `shipping_cost`, `changed_mind`. The merchant is told.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,49}$"))]
    reason_code: Option<String>,
}

/// Neither a cart nor items, or both.
#[derive(Debug, thiserror::Error)]
#[error("name cart_id, or merchant_slug and items")]
struct NameOne;

impl Problem for NameOne {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "cart_id");
    }
}

fn method(name: Option<&str>) -> Result<Option<PaymentMethod>, CheckoutError> {
    let named = |name: &str| PaymentMethod::from_name(name).ok_or(CheckoutError::UnknownMethod);
    name.map(named).transpose()
}

fn counter<'rest>(rest: &'rest Rest, store: &'rest Store) -> Counter<'rest> {
    Counter { database: &rest.database, store, site_url: &rest.site_url }
}

async fn complete(
    AgentCaller(agent): AgentCaller,
    State(rest): State<Arc<Rest>>,
    once: Once,
    Json(request): Json<CheckoutRequest>,
) -> Result<(StatusCode, One<SessionRecord>), Refusal> {
    let payment_method = method(request.payment_method.as_deref())?;
    let return_url = return_url(request.return_url.as_deref())?;
    let metadata = metadata(request.metadata.as_ref())?;
    let (store, cart) = cart_of(&rest, &agent, &once, &request).await?;
    let once = once.key(store.merchant, &agent, &request)?;
    let (confirmation, quote_hash) = proof(request.confirmation.as_ref())?;
    let asked = Complete {
        quote_hash,
        confirmation,
        payment_method,
        return_url,
        metadata,
        ..Complete::cart(cart)
    };
    let counter = counter(&rest, &store);
    let at = checkout::complete(&counter, &owner(&agent), &asked, once.as_ref()).await?;
    Ok((StatusCode::CREATED, One::new(at.record())))
}

/// The cart that is meant, with what the request says beyond it; one is made of items.
async fn cart_of(
    rest: &Rest,
    agent: &Agent,
    once: &Once,
    request: &CheckoutRequest,
) -> Result<(Arc<Store>, CartId), Refusal> {
    let codes = request.discount_codes.clone();
    match (request.cart_id, &request.merchant_slug, &request.items) {
        (Some(cart), None, None) => {
            let merchant = carts::owner(&rest.database, cart, agent.key).await?;
            agent.require_store(merchant).map_err(|_| CartError::NotFound)?;
            let store = rest.stores.find_merchant(merchant).await?;
            store.admit_write(agent.is_sandbox())?;
            let edits: Vec<Edit> = [
                request.shipping_address.clone().map(Edit::Destination),
                request.buyer.clone().map(Edit::Buyer),
                codes.map(Edit::Codes),
                request.shipping_option_id.clone().map(Edit::Shipping),
            ]
            .into_iter()
            .flatten()
            .collect();
            if !edits.is_empty() {
                let which = (agent.key, cart);
                let done = carts::change(&rest.database, &store, which, None, &edits, None).await;
                // A cart whose checkout is under way gives that one.
                if !matches!(done, Err(CartError::Closed { .. })) {
                    done?;
                }
            }
            Ok((store, cart))
        }
        (None, Some(slug), Some(wanted)) => {
            let slug: StoreSlug = slug.parse()?;
            let store = rest.stores.admit(&slug).await?;
            store.admit_write(agent.is_sandbox())?;
            agent.require_store(store.merchant)?;
            let new = NewCart {
                items: items(wanted)?,
                destination: request.shipping_address.clone(),
                buyer: request.buyer.clone(),
                codes: codes.unwrap_or_default(),
            };
            // Asked for again, the cart is the same one as well.
            let once = once.part("cart").key(store.merchant, agent, request)?;
            let owner = owner(agent);
            let made = carts::create(&rest.database, &store, &owner, new, once.as_ref()).await?;
            let way = request.shipping_option_id.clone();
            let way = way.or_else(|| made.quote.options.first().map(|option| option.id.clone()));
            if let Some(way) = way
                && made.cart.open(made.now, None).is_ok()
                && made.quote.chosen.is_none()
            {
                let which = (agent.key, made.cart.id);
                carts::change(&rest.database, &store, which, None, &[Edit::Shipping(way)], None)
                    .await?;
            }
            Ok((store, made.cart.id))
        }
        _ => Err(NameOne.into()),
    }
}

type Proof = (Option<ConfirmationId>, Option<QuoteHash>);

fn proof(sent: Option<&ProofRequest>) -> Result<Proof, CheckoutError> {
    let Some(sent) = sent else { return Ok((None, None)) };
    let fault = match (sent.level.as_deref(), sent.confirmation_id) {
        (Some("mandate"), _) => Some(ProofFault::MandateNotYet),
        (Some("elicited" | "hosted"), None) => Some(ProofFault::Unknown),
        _ => None,
    };
    if let Some(fault) = fault {
        return Err(CheckoutError::ConfirmationRequired { fault, requested: None });
    }
    let hash = sent.quote_hash.as_deref().map(str::parse).transpose()?;
    Ok((sent.confirmation_id, hash))
}

fn return_url(sent: Option<&str>) -> Result<Option<String>, Unfit> {
    match sent {
        Some(url) if !url.starts_with("https://") || url.len() > 2000 => {
            Err(Unfit { field: "return_url" })
        }
        sent => Ok(sent.map(str::to_owned)),
    }
}

/// What an agent wants to find again is a few names, not a store of its own.
fn metadata(sent: Option<&Value>) -> Result<Option<Value>, Unfit> {
    let fits = |sent: &Value| sent.is_object() && sent.to_string().len() <= METADATA_MAX;
    match sent {
        Some(sent) if !fits(sent) => Err(Unfit { field: "metadata" }),
        sent => Ok(sent.cloned()),
    }
}

/// The store of a session of this agent.
async fn store_of(rest: &Rest, agent: &Agent, id: CheckoutId) -> Result<Arc<Store>, Refusal> {
    let merchant = checkout::owner_of(&rest.database, id).await?;
    agent.require_store(merchant).map_err(|_| CheckoutError::NotFound)?;
    let reading = Reading::for_store(&rest.database, merchant)?;
    checkout::session(&reading, merchant, id, Some(agent.key)).await?;
    let store = rest.stores.find_merchant(merchant).await?;
    store.admit()?;
    Ok(store)
}

async fn read(
    AgentCaller(agent): AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(CheckoutPart(id)): Path<CheckoutPart>,
) -> Result<One<SessionRecord>, Refusal> {
    let store = store_of(&rest, &agent, id).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let at = checkout::session(&reading, store.merchant, id, Some(agent.key)).await?;
    Ok(One::new(at.record()))
}

async fn change(
    AgentCaller(agent): AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(CheckoutPart(id)): Path<CheckoutPart>,
    once: Once,
    Json(request): Json<ChangeRequest>,
) -> Result<One<SessionRecord>, Refusal> {
    let store = store_of(&rest, &agent, id).await?;
    store.admit_write(agent.is_sandbox())?;
    let once = once.key(store.merchant, &agent, &request)?;
    let payment_method = method(request.payment_method.as_deref())?;
    let edits = [
        request.shipping_address.map(Edit::Destination),
        request.buyer.map(Edit::Buyer),
        request.discount_codes.map(Edit::Codes),
        request.shipping_option_id.map(Edit::Shipping),
    ];
    let new = NewSession { payment_method, ..NewSession::default() };
    let change = Update { edits: edits.into_iter().flatten().collect(), new };
    let counter = counter(&rest, &store);
    let at = checkout::update(&counter, &owner(&agent), id, &change, once.as_ref()).await?;
    Ok(One::new(at.record()))
}

async fn cancel(
    AgentCaller(agent): AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(CheckoutPart(id)): Path<CheckoutPart>,
    Json(request): Json<CancelRequest>,
) -> Result<One<SessionRecord>, Refusal> {
    let store = store_of(&rest, &agent, id).await?;
    store.admit_write(agent.is_sandbox())?;
    let reason = request.reason_code.as_deref();
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if reason.is_some_and(|reason| {
        reason.is_empty() || reason.len() > 50 || !reason.bytes().all(is_name)
    }) {
        return Err(Unfit { field: "reason_code" }.into());
    }
    let at = checkout::cancel(&counter(&rest, &store), &owner(&agent), id, reason).await?;
    Ok(One::new(at.record()))
}
