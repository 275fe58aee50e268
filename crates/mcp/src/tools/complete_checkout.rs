//! `complete_checkout`: holds the items and says where a person pays. It never processes a payment (spec §1.4).

use carts::{CartError, QuoteHash};
use checkout::{CheckoutError, Complete, ConfirmationStatus, ProofFault, SessionRecord};
use merchants::ConfirmationPolicy;
use primitives::{CartId, CheckoutId, ConfirmationId, Details, ErrorCode, Failure, Problem, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::{PaymentMethodName, counter};
use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct CompleteCheckout;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The cart, as `create_cart` returned it.
    cart_id: Option<CartId>,
    /// Or the session, as `create_checkout` returned it.
    checkout_id: Option<CheckoutId>,
    /// What the person agreed to: the `quote_hash` of `preview_checkout`. If prices moved since, it is refused instead of changed.
    #[schemars(regex(pattern = "^[0-9a-f]{64}$"))]
    quote_hash: Option<String>,
    /// The proof that a person agreed.
    confirmation: Option<Proof>,
    /// How it will be paid, if that is known.
    payment_method: Option<PaymentMethodName>,
}

/// The proof that a person agreed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Proof {
    /// The question the person answered, as `request_human_confirmation` returned it.
    confirmation_id: Option<ConfirmationId>,
    /// How strong it is: `attested` needs no `confirmation_id`; `mandate` is not accepted yet.
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
    const PURPOSE: &'static str = "Complete the checkout of a cart: prices and stock are checked once more, the items are held for thirty minutes, and checkout_url is where the person reviews and pays. No payment is processed. Calling again returns the same session. Ask the person first.";
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const PER_MINUTE: u32 = 10; // spec §8
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<SessionRecord, Failure> {
        let (counter, owner) = (counter(call), call.owner()?);
        let cart = match (arguments.cart_id, arguments.checkout_id) {
            (Some(cart), None) => cart,
            (None, Some(id)) => {
                let (reading, merchant) = (call.reading()?, call.store.merchant);
                checkout::session(&reading, merchant, id, Some(owner.key)).await?.session.cart
            }
            _ => return Err(NameOne.into()),
        };
        let hash = arguments.quote_hash.as_deref().map(str::parse::<QuoteHash>).transpose();
        let mut asked = Complete {
            quote_hash: hash.map_err(|_| CartError::InvalidQuoteHash)?,
            confirmation: proof(arguments.confirmation)?,
            payment_method: arguments.payment_method.map(Into::into),
            ..Complete::cart(cart)
        };
        if let Some(answered) = call.answered {
            if let Some(decision) = answered.decision {
                checkout::elicit(&counter, &owner, answered.confirmation, decision).await?;
            }
            asked.confirmation = Some(answered.confirmation);
        }
        if call.asks.is_some() && asked.confirmation.is_none() {
            ask(call, cart).await?;
        }
        Ok(checkout::complete(&counter, &owner, &asked, call.once()).await?.record())
    }
}

/// A client that can ask its person is told to, also where the agent's word would do. A cart that is under way is not asked
/// about again.
async fn ask(call: &Call<'_>, cart: CartId) -> Result<(), Failure> {
    let (counter, owner, reading) = (counter(call), call.owner()?, call.reading()?);
    let settings = merchants::settings(&reading, call.store.merchant).await?.settings;
    let priced = carts::cart(&reading, call.store, cart, Some(owner.key)).await?;
    let is_open = priced.cart.open(priced.now, None).is_ok() && priced.quote.is_ready();
    if settings.confirmation != ConfirmationPolicy::Attested || !is_open {
        return Ok(());
    }
    let requested = checkout::request(&counter, &owner, cart).await?;
    if requested.confirmation.status(requested.now) == ConfirmationStatus::Confirmed {
        return Ok(());
    }
    let requested = Some(Box::new(requested));
    Err(CheckoutError::ConfirmationRequired { fault: ProofFault::NotAsked, requested }.into())
}

fn proof(sent: Option<Proof>) -> Result<Option<ConfirmationId>, CheckoutError> {
    let Some(sent) = sent else { return Ok(None) };
    match (sent.confirmation_id, sent.level) {
        (_, Some(Level::Mandate)) => {
            let fault = ProofFault::MandateNotYet;
            Err(CheckoutError::ConfirmationRequired { fault, requested: None })
        }
        (None, Some(Level::Elicited | Level::Hosted)) => {
            let fault = ProofFault::Unknown;
            Err(CheckoutError::ConfirmationRequired { fault, requested: None })
        }
        (id, _) => Ok(id),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("name the cart or the checkout, one of the two")]
struct NameOne;

impl Problem for NameOne {
    fn code(&self) -> ErrorCode {
        ErrorCode::InvalidRequest
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", "cart_id");
        details.insert("allowed", ["cart_id", "checkout_id"].to_vec());
    }
}
