//! `list_payment_methods`: payment methods of the store (docs/contract/payments.md#payment-methods).

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
    currency: Option<PaymentCurrency>,
}

/// A supported payment currency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum PaymentCurrency {
    Usd,
    Eur,
    Usdc,
}

impl PaymentCurrency {
    fn currency(self) -> Currency {
        match self {
            Self::Usd => Currency::USD,
            Self::Eur => Currency::EUR,
            Self::Usdc => Currency::Usdc,
        }
    }
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
        let currency = arguments.currency.map(PaymentCurrency::currency);
        let page = [Currency::USD, Currency::EUR];
        let all: [(&str, &str, &[Currency], &str); 3] = [
            ("stripe", "card", &page, "merchant_page"),
            ("paypal", "wallet", &page, "merchant_page"),
            ("x402", "stablecoin", &[Currency::Usdc], "agent_wallet"),
        ];
        let method = |(id, kind, currencies, handler): (_, _, &[Currency], _)| Method {
            id,
            r#type: kind,
            currencies: currencies.iter().map(ToString::to_string).collect(),
            handler,
        };
        let accepts = |currencies: &[Currency]| currency.is_none_or(|it| currencies.contains(&it));
        let methods =
            all.into_iter().filter(|(_, _, currencies, _)| accepts(currencies)).map(method);
        let agent_checkout = context.store.standing.allows_agent_checkout();
        Ok(Output { agent_checkout, methods: methods.collect() })
    }
}
