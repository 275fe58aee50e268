//! Checkout sessions of agents, at any store.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use carts::{Buyer, CartError, CartRef, Destination, Edit, NewCart, QuoteHash};
use checkout::{
    CheckoutContext, CheckoutError, Complete, NewSession, ProofRejection, SessionRecord, Update,
};
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
use crate::idempotency::IdempotencyKeyHeader;
use crate::request::InvalidField;
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

const ACCESS: Access = Access::Agent(Scope::AgentCheckout);
/// The longest `metadata`, in bytes of JSON.
const METADATA_MAX: usize = 4096;

/// Errors of every call that names a session.
const SESSION_ERRORS: [ErrorCode; 2] = [ErrorCode::NotFound, ErrorCode::StoreSuspended];
/// Errors of a purchase.
const PURCHASE_ERRORS: [ErrorCode; 10] = [
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

pub(crate) fn endpoints() -> Routes<RestState> {
    let complete = Endpoint::post("/agent/checkout", ACCESS, complete)
        .tool("complete_checkout", 10) // spec §8
        .writes()
        .operation_id("createCheckout")
        .tag("checkout")
        .summary("Complete a checkout")
        .description("Checks out a cart, or a store and items. Prices, stock and the store's standing are revalidated, the items are reserved for thirty minutes, and a person reviews and pays at `checkout_url`. This call processes no payment. Ask the person for approval first. Repeating the call for the same cart returns the same session.")
        .body::<CheckoutRequest>()
        .response::<Envelope<SessionRecord>>(201)
        .errors(&PURCHASE_ERRORS)
        .errors(&[ErrorCode::ProductNotFound, ErrorCode::StoreNotFound, ErrorCode::InvalidSlug]);
    let read = Endpoint::get("/agent/checkout/{checkout_id}", ACCESS, read)
        .tool("get_checkout", 60)
        .operation_id("getCheckout")
        .tag("checkout")
        .summary("Get a checkout session")
        .description("Returns a session that was created with this key.")
        .path::<CheckoutId>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(&SESSION_ERRORS);
    let update = Endpoint::patch("/agent/checkout/{checkout_id}", ACCESS, update)
        .tool("update_checkout", 10)
        .writes()
        .operation_id("updateCheckout")
        .tag("checkout")
        .summary("Update a checkout session")
        .description("Sets the shipping address, the buyer, the shipping option, the discount codes or the payment method. Fields in the body are replaced, all others stay unchanged. If items were reserved for payment, the reservation is released and the checkout must be completed again.")
        .path::<CheckoutId>()
        .body::<UpdateCheckoutRequest>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(&SESSION_ERRORS)
        .errors(&PURCHASE_ERRORS);
    let cancel = Endpoint::post("/agent/checkout/{checkout_id}/cancel", ACCESS, cancel)
        .tool("cancel_checkout", 10)
        .writes()
        .operation_id("cancelCheckout")
        .tag("checkout")
        .summary("Cancel a checkout session")
        .description(
            "Releases reserved stock. Idempotent: canceling a canceled session changes nothing.",
        )
        .path::<CheckoutId>()
        .body::<CancelCheckoutRequest>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(&SESSION_ERRORS)
        .errors(&[ErrorCode::InvalidStatusTransition]);
    Routes::new().with(complete).with(read).with(update).with(cancel)
}

/// A purchase: either `cart_id`, or `merchant_slug` and `items`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "cart_id": "cart_00000000000000000000000000000001" })))]
struct CheckoutRequest {
    /// ID of the cart to check out.
    cart_id: Option<CartId>,
    /// Slug of the store that sells the items.
    #[schemars(length(min = 1, max = 63))]
    merchant_slug: Option<String>,
    /// The items to buy, 1 to 50 lines.
    #[schemars(length(min = 1, max = 50))]
    items: Option<Vec<CartItem>>,
    /// Payment method: `stripe`, `x402` or `paypal`.
    #[schemars(length(max = 20))]
    payment_method: Option<String>,
    /// The buyer.
    buyer: Option<Buyer>,
    /// Shipping address.
    shipping_address: Option<Destination>,
    /// Shipping option. If omitted with `items`, the cheapest option is selected.
    #[schemars(length(min = 1, max = 100))]
    shipping_option_id: Option<String>,
    /// Discount codes to apply.
    #[schemars(length(max = 5))]
    discount_codes: Option<Vec<String>>,
    /// Proof of a person's confirmation.
    confirmation: Option<ProofRequest>,
    /// HTTPS URL that the buyer returns to after payment.
    #[schemars(length(max = 2000))]
    return_url: Option<String>,
    /// Your own data, stored with the session and returned to you only: an object of at most 4,096 bytes of JSON.
    #[schemars(extend("type" = "object"))]
    metadata: Option<Value>,
}

/// Proof of a person's confirmation.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ProofRequest {
    /// Level of confirmation. `attested` needs no further field; `elicited` and `hosted` need `confirmation_id`; `mandate` is not supported yet.
    #[schemars(extend("enum" = ["attested", "elicited", "hosted", "mandate"]))]
    level: Option<String>,
    /// ID of the confirmation that the person gave.
    confirmation_id: Option<ConfirmationId>,
    /// Hash of the quote that the person confirmed.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    quote_hash: Option<String>,
}

/// Changes to a checkout session. Omitted fields stay unchanged.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateCheckoutRequest {
    /// Shipping address.
    shipping_address: Option<Destination>,
    /// The buyer.
    buyer: Option<Buyer>,
    /// Shipping option: the `id` of one of the session's options.
    #[schemars(length(min = 1, max = 100))]
    shipping_option_id: Option<String>,
    /// Discount codes that replace all others.
    #[schemars(length(max = 5))]
    discount_codes: Option<Vec<String>>,
    /// Payment method: `stripe`, `x402` or `paypal`.
    #[schemars(length(max = 20))]
    payment_method: Option<String>,
}

/// The reason of a cancellation.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelCheckoutRequest {
    /// Short code, such as `price`, `shipping_cost` or `changed_mind`. The merchant sees it.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,49}$"))]
    reason_code: Option<String>,
}

/// The request names neither a cart nor items, or both.
#[derive(Debug, thiserror::Error)]
#[error("either cart_id, or merchant_slug and items, is required")]
struct CartOrItemsRequired;

impl Problem for CartOrItemsRequired {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "cart_id");
    }
}

fn method(name: Option<&str>) -> Result<Option<PaymentMethod>, CheckoutError> {
    let named = |name: &str| PaymentMethod::parse(name).ok_or(CheckoutError::UnknownPaymentMethod);
    name.map(named).transpose()
}

fn context<'rest>(rest: &'rest Rest, store: &'rest Store) -> CheckoutContext<'rest> {
    CheckoutContext { database: &rest.database, store, site_url: &rest.site_url }
}

async fn complete(
    AgentCaller(agent): AgentCaller,
    State(rest): State<Arc<Rest>>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CheckoutRequest>,
) -> Result<(StatusCode, Envelope<SessionRecord>), ErrorResponse> {
    let payment_method = method(request.payment_method.as_deref())?;
    let return_url = return_url(request.return_url.as_deref())?;
    let metadata = metadata(request.metadata.as_ref())?;
    let (store, cart) = cart_of(&rest, &agent, &idempotency_key, &request).await?;
    let idempotency_key = idempotency_key.key(store.merchant, &agent, &request)?;
    let (confirmation, quote_hash) = proof(request.confirmation.as_ref())?;
    let completion = Complete {
        quote_hash,
        confirmation,
        payment_method,
        return_url,
        metadata,
        ..Complete::cart(cart)
    };
    let context = context(&rest, &store);
    let session =
        checkout::complete(&context, &owner(&agent), &completion, idempotency_key.as_ref()).await?;
    Ok((StatusCode::CREATED, Envelope::new(session.record())))
}

impl CheckoutRequest {
    fn edits(&self) -> Vec<Edit> {
        let edits = [
            self.shipping_address.clone().map(Edit::Destination),
            self.buyer.clone().map(Edit::Buyer),
            self.discount_codes.clone().map(Edit::Codes),
            self.shipping_option_id.clone().map(Edit::Shipping),
        ];
        edits.into_iter().flatten().collect()
    }
}

/// Returns the cart to check out: the named one with the changes of the request, or a new one with its items.
async fn cart_of(
    rest: &Rest,
    agent: &Agent,
    idempotency_key: &IdempotencyKeyHeader,
    request: &CheckoutRequest,
) -> Result<(Arc<Store>, CartId), ErrorResponse> {
    match (request.cart_id, &request.merchant_slug, &request.items) {
        (Some(cart), None, None) => {
            let merchant = carts::merchant_of(&rest.database, cart, agent.key).await?;
            agent.require_store(merchant).map_err(|_| CartError::NotFound)?;
            let store = rest.stores.find_merchant(merchant).await?;
            store.admit_write(agent.is_sandbox())?;
            let edits = request.edits();
            if !edits.is_empty() {
                let changed = CartRef { agent: agent.key, id: cart };
                let done = carts::change(&rest.database, &store, changed, None, &edits, None).await;
                // A cart whose checkout is in progress returns that session.
                if !matches!(done, Err(CartError::Closed { .. })) {
                    done?;
                }
            }
            Ok((store, cart))
        }
        (None, Some(slug), Some(requested)) => {
            let slug: StoreSlug = slug.parse()?;
            let store = rest.stores.admit(&slug).await?;
            store.admit_write(agent.is_sandbox())?;
            agent.require_store(store.merchant)?;
            let new = NewCart {
                items: items(requested)?,
                destination: request.shipping_address.clone(),
                buyer: request.buyer.clone(),
                codes: request.discount_codes.clone().unwrap_or_default(),
            };
            // A repeated request creates no second cart.
            let idempotency_key =
                idempotency_key.for_step("cart").key(store.merchant, agent, request)?;
            let owner = owner(agent);
            let created =
                carts::create(&rest.database, &store, &owner, new, idempotency_key.as_ref())
                    .await?;
            let shipping_option = request.shipping_option_id.clone();
            let shipping_option = shipping_option
                .or_else(|| created.quote.options.first().map(|option| option.id.clone()));
            if let Some(shipping_option) = shipping_option
                && created.cart.ensure_open(created.now, None).is_ok()
                && created.quote.selected_option.is_none()
            {
                let cart = CartRef { agent: agent.key, id: created.cart.id };
                carts::change(
                    &rest.database,
                    &store,
                    cart,
                    None,
                    &[Edit::Shipping(shipping_option)],
                    None,
                )
                .await?;
            }
            Ok((store, created.cart.id))
        }
        _ => Err(CartOrItemsRequired.into()),
    }
}

type Proof = (Option<ConfirmationId>, Option<QuoteHash>);

fn proof(sent: Option<&ProofRequest>) -> Result<Proof, CheckoutError> {
    let Some(sent) = sent else { return Ok((None, None)) };
    let reason = match (sent.level.as_deref(), sent.confirmation_id) {
        (Some("mandate"), _) => Some(ProofRejection::MandateNotSupported),
        (Some("elicited" | "hosted"), None) => Some(ProofRejection::Unknown),
        _ => None,
    };
    if let Some(reason) = reason {
        return Err(CheckoutError::ConfirmationRequired { reason, requested: None });
    }
    let hash = sent.quote_hash.as_deref().map(str::parse).transpose()?;
    Ok((sent.confirmation_id, hash))
}

fn return_url(sent: Option<&str>) -> Result<Option<String>, InvalidField> {
    match sent {
        Some(url) if !url.starts_with("https://") || url.len() > 2000 => {
            Err(InvalidField { field: "return_url" })
        }
        sent => Ok(sent.map(str::to_owned)),
    }
}

/// Checks that `metadata` is an object of at most `METADATA_MAX` bytes.
fn metadata(sent: Option<&Value>) -> Result<Option<Value>, InvalidField> {
    let fits = |sent: &Value| sent.is_object() && sent.to_string().len() <= METADATA_MAX;
    match sent {
        Some(sent) if !fits(sent) => Err(InvalidField { field: "metadata" }),
        sent => Ok(sent.cloned()),
    }
}

/// Returns the store of a session, or `NotFound` if the session is not the agent's.
async fn store_of(rest: &Rest, agent: &Agent, id: CheckoutId) -> Result<Arc<Store>, ErrorResponse> {
    let merchant = checkout::merchant_of(&rest.database, id).await?;
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
    Path(id): Path<CheckoutId>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let store = store_of(&rest, &agent, id).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let session = checkout::session(&reading, store.merchant, id, Some(agent.key)).await?;
    Ok(Envelope::new(session.record()))
}

async fn update(
    AgentCaller(agent): AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<UpdateCheckoutRequest>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let store = store_of(&rest, &agent, id).await?;
    store.admit_write(agent.is_sandbox())?;
    let idempotency_key = idempotency_key.key(store.merchant, &agent, &request)?;
    let payment_method = method(request.payment_method.as_deref())?;
    let edits = [
        request.shipping_address.map(Edit::Destination),
        request.buyer.map(Edit::Buyer),
        request.discount_codes.map(Edit::Codes),
        request.shipping_option_id.map(Edit::Shipping),
    ];
    let new = NewSession { payment_method, ..NewSession::default() };
    let change = Update { edits: edits.into_iter().flatten().collect(), new };
    let context = context(&rest, &store);
    let session =
        checkout::update(&context, &owner(&agent), id, &change, idempotency_key.as_ref()).await?;
    Ok(Envelope::new(session.record()))
}

async fn cancel(
    AgentCaller(agent): AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
    Json(request): Json<CancelCheckoutRequest>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let store = store_of(&rest, &agent, id).await?;
    store.admit_write(agent.is_sandbox())?;
    let reason = request.reason_code.as_deref();
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if reason.is_some_and(|reason| {
        reason.is_empty() || reason.len() > 50 || !reason.bytes().all(is_name)
    }) {
        return Err(InvalidField { field: "reason_code" }.into());
    }
    let session = checkout::cancel(&context(&rest, &store), &owner(&agent), id, reason).await?;
    Ok(Envelope::new(session.record()))
}
