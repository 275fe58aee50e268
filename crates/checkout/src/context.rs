//! What the verbs of checkout need besides their arguments.

use database::{Database, DatabaseError, Reading, Work};
use merchants::{Settings, Store};
use payments::PaymentMethod;
use primitives::{CheckoutId, ClientAddress, ConfirmationId, MerchantId, Plan, UserId};

use crate::{CheckoutError, PaymentGateway, PaymentPage, Session};

/// The caller of a verb.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckoutCaller {
    /// The account of the agent's key, with whose other keys it shares what it can hold; `None` for a sandbox key.
    pub account: Option<UserId>,
    /// The plan of the agent's key, by which its holds are limited.
    pub plan: Plan,
    /// `None` if the call did not come over the network.
    pub address: Option<ClientAddress>,
}

/// The store of a checkout, the database, the base URL of the site, the payment gateway and the caller.
#[derive(Clone, Copy)]
pub struct CheckoutContext<'context> {
    pub database: &'context Database,
    /// May come from a cache; a verb that decides about a purchase reads the store again.
    pub store: &'context Store,
    /// Base URL of this site, without a trailing slash.
    pub site_url: &'context str,
    /// Takes payments on the hosted page.
    pub gateway: &'context PaymentGateway,
    pub caller: CheckoutCaller,
}

impl CheckoutContext<'_> {
    pub(crate) fn merchant(&self) -> MerchantId {
        self.store.merchant
    }

    pub(crate) async fn work(&self) -> Result<Work, DatabaseError> {
        Work::for_checkout(self.database, self.merchant()).await
    }

    pub(crate) fn reading(&self) -> Result<Reading, DatabaseError> {
        Reading::for_store(self.database, self.merchant())
    }

    /// Returns the URL of the hosted payment page of a session.
    #[must_use]
    pub fn hosted_url(&self, checkout: CheckoutId) -> String {
        format!("{}/{}/checkout/{checkout}", self.site_url, self.store.slug)
    }

    /// Returns the URL of the hosted confirmation page.
    #[must_use]
    pub fn confirm_url(&self, confirmation: ConfirmationId) -> String {
        format!("{}/{}/confirm/{confirmation}", self.site_url, self.store.slug)
    }

    /// Returns where a person pays for a session: the store's own page if it has one, otherwise the hosted page. A
    /// sandbox session always uses the hosted page.
    pub(crate) fn checkout_url(&self, settings: &Settings, session: &Session) -> String {
        match &settings.checkout_url {
            Some(template) if !session.owner.is_sandbox => {
                let items: Vec<(&str, u32)> =
                    session.lines.iter().map(|line| (line.sku.as_str(), line.quantity)).collect();
                template.fill(&items, &session.id.to_string())
            }
            _ => self.hosted_url(session.id),
        }
    }

    /// Returns whether a person pays for a session on the hosted page. A session is paid on the page it was completed for,
    /// also if the store has changed its own since.
    #[must_use]
    pub fn is_paid_on_hosted_page(&self, session: &Session) -> bool {
        let is_its_page = session.checkout_url.as_ref() == Some(&self.hosted_url(session.id));
        is_its_page && self.gateway.accepts(session.owner.is_sandbox)
    }

    /// Returns `PaymentNotAccepted` unless a person pays for a session on the hosted page.
    pub(crate) fn ensure_hosted(&self, session: &Session) -> Result<(), CheckoutError> {
        if self.is_paid_on_hosted_page(session) {
            Ok(())
        } else {
            Err(CheckoutError::PaymentNotAccepted)
        }
    }

    /// Returns `NoPaymentPage` if a person could pay neither on a page of the store nor on the hosted page.
    pub(crate) fn ensure_payment_page(
        &self,
        settings: &Settings,
        is_sandbox: bool,
    ) -> Result<(), CheckoutError> {
        let page = PaymentPage::of(settings, self.gateway, is_sandbox);
        page.map(drop).ok_or(CheckoutError::NoPaymentPage)
    }

    /// Returns `MethodNotAccepted` if an agent names a payment method that does not work at the store.
    pub(crate) fn ensure_method(
        &self,
        settings: &Settings,
        is_sandbox: bool,
        method: Option<PaymentMethod>,
    ) -> Result<(), CheckoutError> {
        let page = PaymentPage::of(settings, self.gateway, is_sandbox);
        let accepted = page.map_or_else(Vec::new, |page| page.methods(self.store.currency));
        match method {
            Some(method) if !accepted.contains(&method) => {
                Err(CheckoutError::MethodNotAccepted { accepted })
            }
            _ => Ok(()),
        }
    }
}
