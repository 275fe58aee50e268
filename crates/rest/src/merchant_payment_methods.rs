//! Accounts of a store at payment processors, managed by its owners (docs/contract/merchant-api.md#payment-methods).

use std::sync::Arc;

use axum::extract::State;
use identity::Actor;
use payments::{AccountCredentials, AccountStatus, PaymentAccount, ProviderName};
use primitives::{ErrorCode, PaymentAccountId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::payment_webhooks::webhook_url;
use crate::{
    Access, Endpoint, Envelope, ErrorResponse, Json, OwnerCaller, Rest, RestState, Routes,
};

/// The processors at which stores have accounts, in the order of the list.
const PROVIDERS: [ProviderName; 2] = [ProviderName::Stripe, ProviderName::Paypal];

pub(crate) fn endpoints() -> Routes<RestState> {
    let list = Endpoint::get("/merchant/payment-methods", Access::Owner, list)
        .credential_quota()
        .operation_id("listPaymentMethods")
        .tag("merchant")
        .summary("List payment methods")
        .description("Returns the payment processors with which the store can take payments on the hosted page, with its account at each, and asks each processor whether it accepts the credentials. Credentials are never returned. `webhook_url` is the URL to register at the processor, before or after the account is connected.")
        .response::<Envelope<PaymentMethodsRecord>>(200);
    let stripe = Endpoint::put("/merchant/payment-methods/stripe", Access::Owner, put_stripe)
        .credential_quota()
        .operation_id("connectStripe")
        .tag("merchant")
        .summary("Connect a Stripe account")
        .description("Payments by card start with this account from now on; it replaces the present one, with which payments in progress are completed and earlier ones refunded. The key is checked with a call without effect: one that Stripe refuses is 400 with `details.reason` `credentials_refused`, and nothing is stored. A restricted key needs write access to Checkout Sessions and refunds, and read access to payment intents, charges and balance transactions. Register `webhook_url` at Stripe with the events `checkout.session.completed`, `checkout.session.async_payment_succeeded`, `checkout.session.async_payment_failed`, `checkout.session.expired` and `refund.updated`.")
        .body::<ConnectStripeRequest>()
        .response::<Envelope<PaymentMethodRecord>>(200);
    let paypal = Endpoint::put("/merchant/payment-methods/paypal", Access::Owner, put_paypal)
        .credential_quota()
        .operation_id("connectPayPal")
        .tag("merchant")
        .summary("Connect a PayPal account")
        .description("Payments with the wallet start with this application from now on; it replaces the present one, with which payments in progress are completed and earlier ones refunded. The credentials are checked with a call without effect: those that PayPal refuses are 400 with `details.reason` `credentials_refused`, and nothing is stored. Register `webhook_url` in the application with the events of the groups Checkout and Payments & Payouts; PayPal then shows `webhook_id`.")
        .body::<ConnectPayPalRequest>()
        .response::<Envelope<PaymentMethodRecord>>(200);
    Routes::new()
        .with(list)
        .with(stripe)
        .with(paypal)
        .with(
            disconnect("/merchant/payment-methods/stripe", delete_stripe)
                .operation_id("disconnectStripe")
                .summary("Disconnect the Stripe account"),
        )
        .with(
            disconnect("/merchant/payment-methods/paypal", delete_paypal)
                .operation_id("disconnectPayPal")
                .summary("Disconnect the PayPal account"),
        )
}

fn disconnect<H, T>(path: &'static str, handler: H) -> Endpoint<RestState>
where
    H: axum::handler::Handler<T, RestState>,
    T: 'static,
{
    Endpoint::delete(path, Access::Owner, handler)
        .credential_quota()
        .tag("merchant")
        .description("No payment starts with the account any more. Those in progress are completed, and earlier ones refunded, with it.")
        .response::<Envelope<PaymentMethodRecord>>(200)
        .errors(&[ErrorCode::NotFound])
}

// Has no `Debug`, so that the secrets cannot be logged.
/// An account at Stripe.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "api_key": "rk_live_…", "webhook_secrets": ["whsec_…"] })))]
struct ConnectStripeRequest {
    /// A secret key `sk_…` or a restricted key `rk_…`. With a test key, only sandboxes can be paid.
    #[schemars(length(min = 9, max = 512), extend("format" = "password"))]
    api_key: String,
    /// Signing secrets of the webhook endpoint at Stripe, `whsec_…`: two while one replaces the other.
    #[schemars(length(min = 1, max = 2), inner(length(min = 7, max = 512)))]
    webhook_secrets: Vec<String>,
}

/// A system of PayPal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PayPalSystem {
    Live,
    Sandbox,
}

// Has no `Debug`, so that the secret cannot be logged.
/// An application at PayPal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({
    "environment": "live",
    "client_id": "AeA1QIZXiflr1_-r0U2UbWTziOWX1GRQer5jkUq4ZfWT5qwb6qQRPq7jDtv57TL4POEEezGLdutcxnkJ",
    "client_secret": "…",
    "webhook_id": "9XL90610J3647323C",
})))]
struct ConnectPayPalRequest {
    /// `live`, or `sandbox`, with which only sandboxes can be paid.
    environment: PayPalSystem,
    /// Client ID of the application.
    #[schemars(length(min = 1, max = 128))]
    client_id: String,
    /// Secret of the application.
    #[schemars(length(min = 1, max = 512), extend("format" = "password"))]
    client_secret: String,
    /// ID of the webhook in the application.
    #[schemars(length(min = 1, max = 128))]
    webhook_id: String,
}

/// The payment processors, with the accounts of the store.
#[derive(Debug, Serialize, JsonSchema)]
struct PaymentMethodsRecord {
    /// The payment processors.
    payment_methods: Vec<PaymentMethodRecord>,
}

/// A payment processor, with the account of the store.
#[derive(Debug, Serialize, JsonSchema)]
struct PaymentMethodRecord {
    /// Name of the payment method, as agents use it.
    #[schemars(with = "String", extend("enum" = PROVIDERS))]
    payment_method: ProviderName,
    /// The account with which payments start; null: none is connected.
    account: Option<PaymentAccountRecord>,
    /// URL to which the processor is to send its webhooks.
    webhook_url: String,
}

/// An account at a payment processor, without its credentials.
#[derive(Debug, Serialize, JsonSchema)]
struct PaymentAccountRecord {
    /// ID of the account.
    account_id: PaymentAccountId,
    /// Start and end of the key, or the client ID.
    label: String,
    /// Whether payments move real money. Otherwise only sandboxes can be paid with it.
    is_live: bool,
    /// When it was connected.
    connected_at: Timestamp,
    /// Whether the processor accepts the credentials: `working`, `refused`, or `unknown` if it did not answer.
    status: AccountStatus,
}

async fn list(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<Envelope<PaymentMethodsRecord>, ErrorResponse> {
    let accounts = rest.payment_accounts.list(owner.merchant).await?;
    let mut payment_methods = Vec::new();
    for provider in PROVIDERS {
        let account = accounts.iter().find(|account| account.provider == provider);
        let account = match account {
            Some(account) => {
                let status = rest.payment_accounts.status(owner.merchant, account).await?;
                Some((account.clone(), status))
            }
            None => None,
        };
        payment_methods.push(record(&rest, owner, provider, account).await?);
    }
    Ok(Envelope::new(PaymentMethodsRecord { payment_methods }))
}

async fn put_stripe(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<ConnectStripeRequest>,
) -> Result<Envelope<PaymentMethodRecord>, ErrorResponse> {
    let ConnectStripeRequest { api_key, webhook_secrets } = request;
    connect(&rest, owner, &AccountCredentials::Stripe { api_key, webhook_secrets }).await
}

async fn put_paypal(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
    Json(request): Json<ConnectPayPalRequest>,
) -> Result<Envelope<PaymentMethodRecord>, ErrorResponse> {
    let ConnectPayPalRequest { environment, client_id, client_secret, webhook_id } = request;
    let is_live = environment == PayPalSystem::Live;
    let credentials = AccountCredentials::Paypal { is_live, client_id, client_secret, webhook_id };
    connect(&rest, owner, &credentials).await
}

async fn connect(
    rest: &Rest,
    owner: OwnerCaller,
    credentials: &AccountCredentials,
) -> Result<Envelope<PaymentMethodRecord>, ErrorResponse> {
    let (merchant, actor) = (owner.merchant, Actor::Person(owner.user));
    let account = rest.payment_accounts.connect(merchant, actor, credentials).await?;
    let account = Some((account, AccountStatus::Working));
    Ok(Envelope::new(record(rest, owner, credentials.provider(), account).await?))
}

async fn delete_stripe(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<Envelope<PaymentMethodRecord>, ErrorResponse> {
    delete(&rest, owner, ProviderName::Stripe).await
}

async fn delete_paypal(
    owner: OwnerCaller,
    State(rest): State<Arc<Rest>>,
) -> Result<Envelope<PaymentMethodRecord>, ErrorResponse> {
    delete(&rest, owner, ProviderName::Paypal).await
}

async fn delete(
    rest: &Rest,
    owner: OwnerCaller,
    provider: ProviderName,
) -> Result<Envelope<PaymentMethodRecord>, ErrorResponse> {
    let actor = Actor::Person(owner.user);
    rest.payment_accounts.disconnect(owner.merchant, actor, provider).await?;
    Ok(Envelope::new(record(rest, owner, provider, None).await?))
}

async fn record(
    rest: &Rest,
    owner: OwnerCaller,
    provider: ProviderName,
    account: Option<(PaymentAccount, AccountStatus)>,
) -> Result<PaymentMethodRecord, ErrorResponse> {
    let store = rest.stores.find_merchant(owner.merchant).await?;
    let account = account.map(|(account, status)| PaymentAccountRecord {
        account_id: account.id,
        label: account.label,
        is_live: account.is_live,
        connected_at: account.created_at,
        status,
    });
    let webhook_url = webhook_url(&rest.site_url, provider, &store.slug);
    Ok(PaymentMethodRecord { payment_method: provider, account, webhook_url })
}
