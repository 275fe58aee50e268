//! Checkout sessions of agents, at any store.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use carts::{Buyer, CartError, CartUpdate, Destination};
use checkout::{
    CheckoutContext, CheckoutError, Complete, ConfirmationLevel, Metadata, NewSession, ProofClaim,
    ReasonCode, ReturnUrl, SessionRecord, Source, Update,
};
use database::Reading;
use identity::Agent;
use limits::QuotaClass;
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
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

const ACCESS: Access = Access::Agent(Scope::AgentCheckout);

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
        .tool("complete_checkout", QuotaClass::CheckoutWrite)
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
        .tool("get_checkout", QuotaClass::Discovery)
        .operation_id("getCheckout")
        .tag("checkout")
        .summary("Get a checkout session")
        .description("Returns a session that was created with this key.")
        .path::<CheckoutId>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(&SESSION_ERRORS);
    let update = Endpoint::patch("/agent/checkout/{checkout_id}", ACCESS, update)
        .tool("update_checkout", QuotaClass::CheckoutWrite)
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
        .tool("cancel_checkout", QuotaClass::CheckoutWrite)
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
    #[schemars(length(max = ReturnUrl::LENGTH_MAX))]
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
    #[schemars(with = "Option<String>", extend("enum" = ConfirmationLevel::ALL))]
    level: Option<ConfirmationLevel>,
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
    #[schemars(regex(pattern = ReasonCode::PATTERN))]
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
    let completion = request.parse()?;
    let store = request.store(&rest, &agent).await?;
    let idempotency_key = idempotency_key.key(store.merchant, &agent, &request)?;
    let context = context(&rest, &store);
    let session =
        checkout::complete(&context, &owner(&agent), &completion, idempotency_key.as_ref()).await?;
    Ok((StatusCode::CREATED, Envelope::new(session.record())))
}

impl CheckoutRequest {
    fn parse(&self) -> Result<Complete, ErrorResponse> {
        let source = match (self.cart_id, &self.merchant_slug, &self.items) {
            (Some(cart), None, None) => Source::Cart(cart),
            (None, Some(_), Some(requested)) => Source::Items(items(requested)?),
            _ => return Err(CartOrItemsRequired.into()),
        };
        let data = CartUpdate {
            destination: self.shipping_address.clone(),
            buyer: self.buyer.clone(),
            codes: self.discount_codes.clone(),
            shipping_option: self.shipping_option_id.clone(),
        };
        let session = NewSession {
            payment_method: method(self.payment_method.as_deref())?,
            return_url: self.return_url.as_deref().map(ReturnUrl::new).transpose()?,
            metadata: self.metadata.clone().map(Metadata::new).transpose()?,
        };
        let claim = self.confirmation.as_ref().map(ProofRequest::claim).transpose()?;
        let claim = claim.unwrap_or_default();
        Ok(Complete { data, session, claim, ..Complete::new(source) })
    }

    /// Returns the store of the cart, or of the items.
    async fn store(&self, rest: &Rest, agent: &Agent) -> Result<Arc<Store>, ErrorResponse> {
        let store = match (self.cart_id, &self.merchant_slug) {
            (Some(cart), _) => {
                let merchant = carts::merchant_of(&rest.database, cart, agent.key).await?;
                agent.require_store(merchant).map_err(|_| CartError::NotFound)?;
                let store = rest.stores.find_merchant(merchant).await?;
                store.admit_write(agent.is_sandbox())?;
                store
            }
            (None, Some(slug)) => {
                let slug: StoreSlug = slug.parse()?;
                let store = rest.stores.admit(&slug).await?;
                store.admit_write(agent.is_sandbox())?;
                agent.require_store(store.merchant)?;
                store
            }
            (None, None) => return Err(CartOrItemsRequired.into()),
        };
        Ok(store)
    }
}

impl ProofRequest {
    fn claim(&self) -> Result<ProofClaim, CheckoutError> {
        let hash = self.quote_hash.as_deref().map(str::parse).transpose()?;
        ProofClaim::new(self.level, self.confirmation_id, hash)
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
    let data = CartUpdate {
        destination: request.shipping_address,
        buyer: request.buyer,
        codes: request.discount_codes,
        shipping_option: request.shipping_option_id,
    };
    let payment_method = method(request.payment_method.as_deref())?;
    let change = Update { data, session: NewSession { payment_method, ..NewSession::default() } };
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
    let reason = request.reason_code.as_deref().map(ReasonCode::new).transpose()?;
    let session =
        checkout::cancel(&context(&rest, &store), &owner(&agent), id, reason.as_ref()).await?;
    Ok(Envelope::new(session.record()))
}
