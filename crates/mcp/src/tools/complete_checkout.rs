//! `complete_checkout`: reserves the items and returns the page where a person pays. It never processes a payment
//! (docs/contract/overview.md#no-payment-over-mcp).

use carts::QuoteHash;
use checkout::{
    Complete, Elicitation, NewSession, ProofRequest, SESSION_LIFETIME, SessionRecord, Source,
};
use payments::PaymentMethod;
use primitives::{CartId, CheckoutId, Failure, NotExactlyOne, Scope, const_text};
use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::checkout_context;
use crate::request_context::RequestContext;
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
    #[schemars(regex(pattern = QuoteHash::PATTERN))]
    #[schemars(extend("x-former-names" = ["confirmation.quote_hash"]))]
    quote_hash: Option<String>,
    /// Proof of the approval, if the store requires one.
    confirmation: Option<ProofRequest>,
    /// `stripe`, `x402` or `paypal`, if known.
    payment_method: Option<PaymentMethod>,
}

impl Tool for CompleteCheckout {
    const NAME: &'static str = "complete_checkout";
    const TITLE: &'static str = "Complete a checkout";
    const PURPOSE: &'static str = const_text!(
        "Complete the checkout of a cart once the person has approved its preview_checkout: revalidates prices and stock, reserves the items for ",
        (SESSION_LIFETIME.as_secs() / 60),
        " minutes and returns checkout_url, the page where the person pays and, if no destination was set, enters the address. Takes no payment itself; create_checkout is not needed before. Repeating the call returns the same session. Ask the person first.",
    );
    const SET: ToolSet = ToolSet::Checkout;
    const ACCESS: Access = Access::Scope(Scope::AgentCheckout);
    const CONFIRMATION: Confirmation = Confirmation::Required;
    const IDEMPOTENT: bool = true;
    type Arguments = Arguments;
    type Output = SessionRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<SessionRecord, Failure> {
        let source = match (arguments.cart_id, arguments.checkout_id) {
            (Some(cart), None) => Source::Cart(cart),
            (None, Some(session)) => Source::Session(session),
            _ => return Err(NotExactlyOne(&["cart_id", "checkout_id"]).into()),
        };
        let proof = arguments.confirmation.unwrap_or_default();
        let request = Complete {
            claim: proof.claim(arguments.quote_hash.as_deref())?,
            session: NewSession {
                payment_method: arguments.payment_method,
                ..NewSession::default()
            },
            elicitation: Elicitation {
                is_supported: context.elicitation_support.is_some(),
                response: context.elicitation_response,
            },
            ..Complete::new(source)
        };
        let (checkout, owner) = (checkout_context(context), context.owner()?);
        Ok(checkout::complete(&checkout, &owner, &request, context.idempotency()).await?.record())
    }
}
