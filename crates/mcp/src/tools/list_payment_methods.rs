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
    /// Whether agents can check out at this store: its trust score is high enough and a person can pay.
    agent_checkout: bool,
    /// Page on which the person pays: `merchant` (the merchant's own, which offers methods of its own), `hosted`, or
    /// `hosted_test` (charges no money). Absent if nobody can pay at this store.
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_page: Option<PaymentPage>,
    /// Methods that work at this store now, for the `payment_method` argument. Empty if the merchant's page decides, or if agents cannot check out.
    methods: Vec<Method>,
}

impl Output {
    /// Returns what a buyer can use at a store that sells in this currency.
    fn of(is_trusted: bool, payment_page: Option<PaymentPage>, currency: Currency) -> Self {
        let agent_checkout = is_trusted && payment_page.is_some();
        let page = payment_page.filter(|_| agent_checkout);
        let methods = page.map_or_else(Vec::new, |page| page.methods(currency));
        let methods = methods.into_iter().map(|method| Method::of(method, currency)).collect();
        Self { agent_checkout, payment_page, methods }
    }
}

/// A payment method.
#[derive(Serialize, JsonSchema)]
pub(super) struct Method {
    /// Value for the `payment_method` argument.
    id: &'static str,
    /// Kind of method: card, wallet or stablecoin.
    r#type: &'static str,
    /// Accepted currencies among those of the store.
    currencies: Vec<String>,
    /// How payment is made: `hosted_page` (by a person, on the hosted page) or `agent_wallet`.
    handler: &'static str,
}

impl Method {
    fn of(method: PaymentMethod, currency: Currency) -> Self {
        Self {
            id: method.as_str(),
            r#type: method.payment_type().as_str(),
            currencies: vec![currency.to_string()],
            handler: method.handler().as_str(),
        }
    }
}

impl Tool for ListPaymentMethods {
    const NAME: &'static str = "list_payment_methods";
    const TITLE: &'static str = "Payment methods";
    const PURPOSE: &'static str = "List how a purchase at this store can be paid: the page on which the person pays, and the payment methods that work now. No tool takes card data: the person pays at checkout_url.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let settings = merchants::settings(&context.reading()?, context.store.merchant).await?;
        let gateway = &context.app.payment_gateway;
        let is_sandbox = context.store.sells_to_sandboxes_only();
        let payment_page = PaymentPage::of(&settings.settings, gateway, is_sandbox);
        // The store sells in one currency.
        let currency = context.store.currency;
        let mut output = Output::of(context.store.allows_agent_checkout(), payment_page, currency);
        if arguments.currency.is_some_and(|requested| requested != currency) {
            output.methods.clear();
        }
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(output: &Output) -> Vec<&str> {
        output.methods.iter().map(|method| method.id).collect()
    }

    #[test]
    fn only_methods_that_a_buyer_can_use_are_listed() {
        let hosted = Output::of(true, Some(PaymentPage::HostedTest), Currency::EUR);
        assert_eq!((hosted.agent_checkout, ids(&hosted)), (true, vec!["stripe"]));
        assert_eq!(hosted.methods[0].currencies, ["EUR"], "the currency of the store");
        assert_eq!(hosted.methods[0].handler, "hosted_page");
        let merchant = Output::of(true, Some(PaymentPage::Merchant), Currency::EUR);
        assert_eq!((merchant.agent_checkout, ids(&merchant)), (true, vec![]));
        let usdc = Output::of(true, Some(PaymentPage::Hosted), Currency::Usdc);
        assert_eq!((usdc.agent_checkout, ids(&usdc)), (true, vec![]));
        let no_page = Output::of(true, None, Currency::EUR);
        assert_eq!((no_page.agent_checkout, ids(&no_page)), (false, vec![]));
        let untrusted = Output::of(false, Some(PaymentPage::HostedTest), Currency::EUR);
        assert_eq!((untrusted.agent_checkout, ids(&untrusted)), (false, vec![]));
    }
}
