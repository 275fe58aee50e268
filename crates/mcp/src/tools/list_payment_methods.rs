//! `list_payment_methods`: payment methods of the store (docs/contract/payments.md#payment-methods).

use payments::PaymentMethod;
use primitives::{Currency, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct ListPaymentMethods;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Only methods that accept this currency.
    #[schemars(with = "Option<String>", extend("enum" = Currency::SUPPORTED))]
    currency: Option<Currency>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Whether agents may check out at this store at all.
    agent_checkout: bool,
    /// Payment methods.
    methods: Vec<Method>,
}

/// A payment method.
#[derive(Serialize, JsonSchema)]
pub(super) struct Method {
    /// Value for the `payment_method` argument.
    id: &'static str,
    /// Kind of method: card, wallet or stablecoin.
    r#type: &'static str,
    /// Accepted currencies.
    currencies: Vec<String>,
    /// How payment is made: `merchant_page` (by a person, on a page) or `agent_wallet`.
    handler: &'static str,
}

impl Method {
    fn of(method: PaymentMethod) -> Self {
        Self {
            id: method.as_str(),
            r#type: method.payment_type().as_str(),
            currencies: method.currencies().iter().map(ToString::to_string).collect(),
            handler: method.handler().as_str(),
        }
    }
}

impl Tool for ListPaymentMethods {
    const NAME: &'static str = "list_payment_methods";
    const TITLE: &'static str = "Payment methods";
    const PURPOSE: &'static str = "List the payment methods (card, wallet, stablecoin) of this store with their currencies. No tool takes card data: the person pays at checkout_url.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let accepts = |method: &PaymentMethod| {
            arguments.currency.is_none_or(|currency| method.currencies().contains(&currency))
        };
        let mut accepted: Vec<_> = PaymentMethod::ALL.iter().copied().filter(accepts).collect();
        // Methods with which a person pays come first.
        accepted.sort_by_key(|method| method.handler());
        let methods = accepted.into_iter().map(Method::of);
        let agent_checkout = context.store.standing.allows_agent_checkout();
        Ok(Output { agent_checkout, methods: methods.collect() })
    }
}
