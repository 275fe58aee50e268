//! Checkout sessions of agents, at any store.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use carts::{Buyer, CODES_MAX, CartUpdate, Destination, ItemRequest, LINES_MAX, QuoteHash};
use checkout::{
    CheckoutCaller, CheckoutContext, CheckoutError, Complete, Metadata, NewSession, ProofRequest,
    ReasonCode, ReturnUrl, SESSION_LIFETIME, SessionRecord, Source, Update,
};
use database::Reading;
use identity::Agent;
use limits::QuotaClass;
use merchants::Store;
use payments::PaymentMethod;
use primitives::{
    Action, CartId, CheckoutId, ClientAddress, Details, ErrorCode, Problem, Scope, StoreSlug,
    const_text, hint,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::agent_carts::owner;
use crate::idempotency::IdempotencyKeyHeader;
use crate::store_access::{Operation, SLUG_ERRORS, STORE_ERRORS, StoreTarget, admit};
use crate::{
    Access, AgentCaller, Endpoint, Envelope, ErrorResponse, Json, Path, Rest, RestState, Routes,
};

const ACCESS: Access = Access::Agent(Scope::AgentCheckout);

/// Most characters of the name of a payment method. An unknown name is an error of its own.
const METHOD_LENGTH_MAX: usize = 20;

pub(crate) fn endpoints() -> Routes<RestState> {
    let complete = Endpoint::post("/agent/checkout", ACCESS, complete)
        .tool("complete_checkout", QuotaClass::CheckoutWrite)
        .writes()
        .operation_id("createCheckout")
        .tag("checkout")
        .summary("Complete a checkout")
        .description(const_text!(
            "Checks out a cart, or a store and items. Prices, stock and the store's standing are revalidated, the items are reserved for ",
            (SESSION_LIFETIME.as_secs() / 60),
            " minutes, and a person reviews and pays at `checkout_url`. This call processes no payment. Ask the person for approval first. Repeating the call for the same cart returns the same session.",
        ))
        .body::<CheckoutRequest>()
        .response::<Envelope<SessionRecord>>(201)
        .errors(checkout::COMPLETE_ERRORS)
        .errors(carts::CREATE_ERRORS)
        .errors(carts::UPDATE_ERRORS)
        .errors(SLUG_ERRORS);
    let read = Endpoint::get("/agent/checkout/{checkout_id}", ACCESS, read)
        .tool("get_checkout", QuotaClass::Discovery)
        .operation_id("getCheckout")
        .tag("checkout")
        .summary("Get a checkout session")
        .description("Returns a session that was created with this key, also at a store that is suspended or closed.")
        .path::<CheckoutId>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(checkout::READ_ERRORS);
    let update = Endpoint::patch("/agent/checkout/{checkout_id}", ACCESS, update)
        .tool("update_checkout", QuotaClass::CheckoutWrite)
        .writes()
        .operation_id("updateCheckout")
        .tag("checkout")
        .summary("Update a checkout session")
        .description("Sets the destination, the buyer, the shipping option, the discount codes or the payment method. Fields in the body are replaced, all others stay unchanged. If items were reserved for payment, the reservation is released and the checkout must be completed again.")
        .path::<CheckoutId>()
        .body::<UpdateCheckoutRequest>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(checkout::UPDATE_ERRORS)
        .errors(STORE_ERRORS);
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
        .optional_body::<CancelCheckoutRequest>()
        .response::<Envelope<SessionRecord>>(200)
        .errors(checkout::CANCEL_ERRORS);
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
    #[schemars(length(min = 1, max = StoreSlug::LENGTH_MAX))]
    merchant_slug: Option<String>,
    #[schemars(length(min = 1, max = LINES_MAX), description = const_text!("The items to buy, 1 to ", LINES_MAX, " lines."))]
    items: Option<Vec<ItemRequest>>,
    #[schemars(length(max = METHOD_LENGTH_MAX), description = method_description())]
    payment_method: Option<String>,
    /// The buyer.
    buyer: Option<Buyer>,
    /// Shipping destination.
    destination: Option<Destination>,
    /// Shipping option. If omitted with `items`, the cheapest option is selected.
    #[schemars(length(min = 1, max = 100))]
    #[schemars(extend("x-former-names" = ["option_id", "selected_shipping_option_id"]))]
    shipping_option_id: Option<String>,
    /// Discount codes to apply.
    #[schemars(length(max = CODES_MAX))]
    discount_codes: Option<Vec<String>>,
    /// Hash of the quote that the person approved; the call fails if the order has changed since.
    #[schemars(regex(pattern = QuoteHash::PATTERN))]
    #[schemars(extend("x-former-names" = ["confirmation.quote_hash"]))]
    quote_hash: Option<String>,
    /// Proof of a person's confirmation.
    confirmation: Option<ProofRequest>,
    /// HTTPS URL of yours. It is stored with the session and returned to you only; no page links to it yet.
    #[schemars(length(max = ReturnUrl::LENGTH_MAX))]
    return_url: Option<String>,
    #[schemars(
        extend("type" = "object"),
        description = const_text!(
            "Your own data, stored with the session and returned to you only: an object of at most ",
            (Metadata::BYTES_MAX),
            " bytes of JSON.",
        )
    )]
    metadata: Option<Value>,
}

/// Changes to a checkout session. Omitted fields stay unchanged.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct UpdateCheckoutRequest {
    /// Shipping destination.
    destination: Option<Destination>,
    /// The buyer.
    buyer: Option<Buyer>,
    /// Shipping option: the `id` of one of the session's options.
    #[schemars(length(min = 1, max = 100))]
    #[schemars(extend("x-former-names" = ["option_id", "selected_shipping_option_id"]))]
    shipping_option_id: Option<String>,
    /// Discount codes that replace all others.
    #[schemars(length(max = CODES_MAX))]
    discount_codes: Option<Vec<String>>,
    #[schemars(length(max = METHOD_LENGTH_MAX), description = method_description())]
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
        details.insert("allowed", vec!["cart_id", "merchant_slug and items"]);
        details.hint(hint!(
            "send the cart_id of POST /api/v1/agent/cart, or merchant_slug and items; ",
            Action::SearchProducts,
            " returns product ids",
        ));
    }
}

fn method_description() -> String {
    let names: Vec<String> =
        PaymentMethod::ALL.iter().map(|method| format!("`{method}`")).collect();
    format!("Payment method, one of {}.", names.join(", "))
}

fn method(name: Option<&str>) -> Result<Option<PaymentMethod>, CheckoutError> {
    let named = |name: &str| PaymentMethod::parse(name).ok_or(CheckoutError::UnknownPaymentMethod);
    name.map(named).transpose()
}

fn context<'rest>(
    rest: &'rest Rest,
    store: &'rest Store,
    agent: &Agent,
    from: ClientAddress,
) -> CheckoutContext<'rest> {
    CheckoutContext {
        database: &rest.database,
        store,
        site_url: &rest.site_url,
        gateway: &rest.payment_gateway,
        caller: CheckoutCaller { account: agent.owner, plan: agent.plan, address: Some(from) },
    }
}

async fn complete(
    agent: AgentCaller,
    Extension(from): Extension<ClientAddress>,
    State(rest): State<Arc<Rest>>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CheckoutRequest>,
) -> Result<(StatusCode, Envelope<SessionRecord>), ErrorResponse> {
    let is_development = !rest.site_url.starts_with("https://");
    let (target, completion) = request.parse(is_development)?;
    let store = admit(&rest, &agent, target, Operation::Write).await?;
    let idempotency_key = idempotency_key.key(store.merchant, &agent, &request)?;
    let context = context(&rest, &store, &agent, from);
    let session =
        checkout::complete(&context, &owner(&agent), &completion, idempotency_key.as_ref()).await?;
    Ok((StatusCode::CREATED, Envelope::new(session.record())))
}

impl CheckoutRequest {
    fn parse(&self, is_development: bool) -> Result<(StoreTarget<'_>, Complete), ErrorResponse> {
        let return_url = |url: &str| ReturnUrl::new(url, is_development);
        let (target, source) = match (self.cart_id, &self.merchant_slug, &self.items) {
            (Some(cart), None, None) => (StoreTarget::Cart(cart), Source::Cart(cart)),
            (None, Some(slug), Some(items)) => {
                (StoreTarget::Slug(slug), Source::Items(ItemRequest::parse(items)?))
            }
            _ => return Err(CartOrItemsRequired.into()),
        };
        let data = CartUpdate {
            destination: self.destination.clone(),
            buyer: self.buyer.clone(),
            codes: self.discount_codes.clone(),
            shipping_option: self.shipping_option_id.clone(),
        };
        let session = NewSession {
            payment_method: method(self.payment_method.as_deref())?,
            return_url: self.return_url.as_deref().map(return_url).transpose()?,
            metadata: self.metadata.clone().map(Metadata::new).transpose()?,
        };
        let proof = self.confirmation.unwrap_or_default();
        let claim = proof.claim(self.quote_hash.as_deref())?;
        Ok((target, Complete { data, session, claim, ..Complete::new(source) }))
    }
}

async fn read(
    agent: AgentCaller,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let store = admit(&rest, &agent, StoreTarget::Session(id), Operation::Settle).await?;
    let reading = Reading::for_store(&rest.database, store.merchant)?;
    let session = checkout::session(&reading, store.merchant, id, Some(agent.key)).await?;
    Ok(Envelope::new(session.record()))
}

async fn update(
    agent: AgentCaller,
    Extension(from): Extension<ClientAddress>,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<UpdateCheckoutRequest>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let store = admit(&rest, &agent, StoreTarget::Session(id), Operation::Write).await?;
    let idempotency_key = idempotency_key.key(store.merchant, &agent, &request)?;
    let data = CartUpdate {
        destination: request.destination,
        buyer: request.buyer,
        codes: request.discount_codes,
        shipping_option: request.shipping_option_id,
    };
    let payment_method = method(request.payment_method.as_deref())?;
    let change = Update { data, session: NewSession { payment_method, ..NewSession::default() } };
    let context = context(&rest, &store, &agent, from);
    let session =
        checkout::update(&context, &owner(&agent), id, &change, idempotency_key.as_ref()).await?;
    Ok(Envelope::new(session.record()))
}

async fn cancel(
    agent: AgentCaller,
    Extension(from): Extension<ClientAddress>,
    State(rest): State<Arc<Rest>>,
    Path(id): Path<CheckoutId>,
    idempotency_key: IdempotencyKeyHeader,
    Json(request): Json<CancelCheckoutRequest>,
) -> Result<Envelope<SessionRecord>, ErrorResponse> {
    let store = admit(&rest, &agent, StoreTarget::Session(id), Operation::Settle).await?;
    let reason = request.reason_code.as_deref().map(ReasonCode::new).transpose()?;
    let key = idempotency_key.key(store.merchant, &agent, &request)?;
    let (context, owner) = (context(&rest, &store, &agent, from), owner(&agent));
    let session = checkout::cancel(&context, &owner, id, reason.as_ref(), key.as_ref()).await?;
    Ok(Envelope::new(session.record()))
}
