//! Arguments and context shared by the checkout tools.

use checkout::CheckoutContext;
use payments::PaymentMethod;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::request_context::RequestContext;

/// Builds the checkout context of a request.
pub(super) fn checkout_context(context: &RequestContext) -> CheckoutContext<'_> {
    let (database, site_url) = (&context.app.database, &*context.app.site_url);
    CheckoutContext { database, store: &context.store, site_url }
}

/// Payment method.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum PaymentMethodName {
    Stripe,
    X402,
    Paypal,
}

impl From<PaymentMethodName> for PaymentMethod {
    fn from(name: PaymentMethodName) -> Self {
        match name {
            PaymentMethodName::Stripe => Self::Stripe,
            PaymentMethodName::X402 => Self::X402,
            PaymentMethodName::Paypal => Self::Paypal,
        }
    }
}
