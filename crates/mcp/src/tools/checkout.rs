//! What the tools of checkout share.

use checkout::Counter;
use payments::PaymentMethod;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::call::Call;

/// Where it happens.
pub(super) fn counter<'call>(call: &Call<'call>) -> Counter<'call> {
    Counter { database: call.database, store: call.store, site_url: call.site_url }
}

/// A way to pay (spec §1.6).
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
