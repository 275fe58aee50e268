//! `complete_checkout`: reserves the items and returns the page where a person pays. It never processes a payment (spec §1.4).

use carts::{CartError, QuoteHash};
use checkout::{CheckoutError, Complete, ConfirmationStatus, ProofRejection, SessionRecord};
use merchants::ConfirmationPolicy;
use primitives::{CartId, CheckoutId, ConfirmationId, Details, ErrorCode, Failure, Problem, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::{PaymentMethodName, checkout_context};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CompleteCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Id from `create_cart`; give this or `checkout_id`.
    cart_id: Option<CartId>,
    /// Id from `create_checkout`.
    checkout_id: Option<CheckoutId>,
    /// `quote_hash` of the approved `preview_checkout`; the call fails if the order has changed since.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    quote_hash: Option<String>,
    /// Proof of the approval, if the store requires one.
    confirmation: Option<Proof>,
    /// Payment method, if known.
    payment_method: Option<PaymentMethodName>,
}

/// Proof that a person approved the purchase.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Proof {
    /// Id from `request_human_confirmation`.
    confirmation_id: Option<ConfirmationId>,
    /// Confirmation level. `attested` needs no `confirmation_id`; `mandate` is not accepted yet.
    level: Option<Level>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    Attested,
    Elicited,
    Hosted,
    Mandate,
}

impl Tool for CompleteCheckout {
    const NAME: &'static str = "complete_checkout";
    const TITLE: &'static str = "Complete a checkout";
    const PURPOSE: &'static str = "Complete the checkout of a cart once the person has approved its preview_checkout: revalidates prices and stock, reserves the items for 30 minutes and returns checkout_url, the page where the person pays. Takes no payment itself; create_checkout is not needed before. Repeating the call returns the same session. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 10; // spec §8
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<SessionRecord, Failure> {
        let (context, owner) = (checkout_context(call), call.owner()?);
        let cart = match (arguments.cart_id, arguments.checkout_id) {
            (Some(cart), None) => cart,
            (None, Some(id)) => {
                let (reading, merchant) = (call.reading()?, call.store.merchant);
                checkout::session(&reading, merchant, id, Some(owner.key)).await?.session.cart
            }
            _ => return Err(NotExactlyOne.into()),
        };
        let hash = arguments.quote_hash.as_deref().map(str::parse::<QuoteHash>).transpose();
        let mut request = Complete {
            quote_hash: hash.map_err(|_| CartError::InvalidQuoteHash)?,
            confirmation: proof(arguments.confirmation)?,
            payment_method: arguments.payment_method.map(Into::into),
            ..Complete::cart(cart)
        };
        if let Some(response) = call.elicitation_response {
            if let Some(decision) = response.decision {
                checkout::elicit(&context, &owner, response.confirmation, decision).await?;
            }
            request.confirmation = Some(response.confirmation);
        }
        if call.elicitation_support.is_some() && request.confirmation.is_none() {
            require_elicitation(call, cart).await?;
        }
        Ok(checkout::complete(&context, &owner, &request, call.idempotency()).await?.record())
    }
}

/// Fails with `ConfirmationRequired` so that a client that supports elicitation asks the person, even where the store accepts
/// the agent's attestation. Does nothing once the checkout has started.
async fn require_elicitation(call: &Call<'_>, cart: CartId) -> Result<(), Failure> {
    let (context, owner, reading) = (checkout_context(call), call.owner()?, call.reading()?);
    let settings = merchants::settings(&reading, call.store.merchant).await?.settings;
    let priced = carts::cart(&reading, call.store, cart, Some(owner.key)).await?;
    let is_open = priced.cart.ensure_open(priced.now, None).is_ok() && priced.quote.is_ready();
    if settings.confirmation != ConfirmationPolicy::Attested || !is_open {
        return Ok(());
    }
    let requested = checkout::request(&context, &owner, cart).await?;
    if requested.confirmation.status(requested.now) == ConfirmationStatus::Confirmed {
        return Ok(());
    }
    let requested = Some(Box::new(requested));
    Err(CheckoutError::ConfirmationRequired { reason: ProofRejection::NotAsked, requested }.into())
}

/// Validates the claimed proof and returns the confirmation it names.
fn proof(claimed: Option<Proof>) -> Result<Option<ConfirmationId>, CheckoutError> {
    let Some(claimed) = claimed else { return Ok(None) };
    match (claimed.confirmation_id, claimed.level) {
        (_, Some(Level::Mandate)) => {
            let reason = ProofRejection::MandateNotSupported;
            Err(CheckoutError::ConfirmationRequired { reason, requested: None })
        }
        (None, Some(Level::Elicited | Level::Hosted)) => {
            let reason = ProofRejection::Unknown;
            Err(CheckoutError::ConfirmationRequired { reason, requested: None })
        }
        (id, _) => Ok(id),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("exactly one of cart_id and checkout_id is required")]
struct NotExactlyOne;

impl Problem for NotExactlyOne {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "cart_id");
        details.insert("allowed", ["cart_id", "checkout_id"].to_vec());
    }
}
