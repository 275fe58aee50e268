//! Arguments and context shared by the checkout tools.

use checkout::CheckoutContext;
use payments::PaymentMethod;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;

/// Builds the checkout context of a call.
pub(super) fn checkout_context<'call>(call: &Call<'call>) -> CheckoutContext<'call> {
    CheckoutContext { database: call.database, store: call.store, site_url: call.site_url }
}

/// Payment method (spec §1.6).
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
