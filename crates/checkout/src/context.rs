//! Where it happens: a store, its database, and where this service is reached.

use database::{Database, DatabaseError, Reading, Work};
use merchants::{Settings, Store};
use primitives::{CheckoutId, ConfirmationId, MerchantId};

use crate::Session;

/// One store's counter.
#[derive(Clone, Copy)]
pub struct Counter<'counter> {
    /// The database.
    pub database: &'counter Database,
    /// The store. What decides about money is read again in the work that decides.
    pub store: &'counter Store,
    /// Where this service is reached.
    pub site_url: &'counter str,
}

impl Counter<'_> {
    pub(crate) fn merchant(&self) -> MerchantId {
        self.store.merchant
    }

    pub(crate) async fn work(&self) -> Result<Work, DatabaseError> {
        Work::for_store(self.database, self.merchant()).await
    }

    pub(crate) fn reading(&self) -> Result<Reading, DatabaseError> {
        Reading::for_store(self.database, self.merchant())
    }

    /// Our own page on which a person pays.
    #[must_use]
    pub fn hosted_url(&self, checkout: CheckoutId) -> String {
        format!("{}/{}/checkout/{checkout}", self.site_url, self.store.slug)
    }

    /// Our own page on which a person agrees.
    #[must_use]
    pub fn confirm_url(&self, confirmation: ConfirmationId) -> String {
        format!("{}/{}/confirm/{confirmation}", self.site_url, self.store.slug)
    }

    /// Where a person pays for a session: the store's own page if it has one. A sandbox never goes there.
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
}
