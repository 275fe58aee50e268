//! `list_payment_methods`: payment methods of the store (docs/contract/payments.md#payment-methods).

use checkout::PaymentPage;
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
    /// Page on which the person pays: `merchant` (the merchant's own, which offers methods of its own), `hosted`, or
    /// `hosted_test` (charges no money). Absent if nobody can pay at this store.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_page: Option<PaymentPage>,
    /// Methods that work at this store now, for the `payment_method` argument. Empty if the merchant's page decides.
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
    const PURPOSE: &'static str = "List how a purchase at this store can be paid: the page on which the person pays, and the payment methods that work now with their currencies. No tool takes card data: the person pays at checkout_url.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let settings = merchants::settings(&context.reading()?, context.store.merchant).await?;
        // At the demo store only sandbox keys can buy.
        let is_sandbox = context.store.is_read_only();
        let gateway = &context.app.payment_gateway;
        let payment_page = PaymentPage::of(&settings.settings, gateway, is_sandbox);
        let accepts = |method: &PaymentMethod| {
            arguments.currency.is_none_or(|currency| method.currencies().contains(&currency))
        };
        let methods = payment_page.map_or(&[][..], PaymentPage::methods);
        let methods = methods.iter().copied().filter(accepts).map(Method::of);
        let agent_checkout = context.store.standing.allows_agent_checkout();
        Ok(Output { agent_checkout, payment_page, methods: methods.collect() })
    }
}
