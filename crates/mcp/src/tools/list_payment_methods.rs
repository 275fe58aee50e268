//! `list_payment_methods`: how an order can be paid (spec §1).

use primitives::{Currency, Failure};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct ListPaymentMethods;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Only what takes this currency.
    currency: Option<PaidIn>,
}

/// A currency agents can pay in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
enum PaidIn {
    Usd,
    Eur,
    Usdc,
}

impl PaidIn {
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
    /// The methods.
    methods: Vec<Method>,
}

/// A way to pay.
#[derive(Serialize, JsonSchema)]
pub(super) struct Method {
    /// What `payment_method` is called.
    id: &'static str,
    /// What kind it is.
    r#type: &'static str,
    /// Currencies it takes.
    currencies: Vec<String>,
    /// Who pays where: a person on the merchant's page, or the agent's wallet.
    handler: &'static str,
}

impl Tool for ListPaymentMethods {
    const NAME: &'static str = "list_payment_methods";
    const TITLE: &'static str = "Payment methods";
    const PURPOSE: &'static str = "List how an order at this store can be paid. No tool here takes card data: a person pays on the merchant's page.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let wanted = arguments.currency.map(PaidIn::currency);
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
        let takes = |currencies: &[Currency]| wanted.is_none_or(|it| currencies.contains(&it));
        let methods = all.into_iter().filter(|(_, _, currencies, _)| takes(currencies)).map(method);
        let agent_checkout = call.store.standing.takes_checkout();
        Ok(Output { agent_checkout, methods: methods.collect() })
    }
}
