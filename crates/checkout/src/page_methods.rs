//! What a person can pay with on the hosted page of a store.

use database::{Database, DatabaseError, Reading, Work};
use payments::{PaymentAccount, PaymentMethod, Provider, ProviderName};
use primitives::{MerchantId, PaymentAccountId};

use crate::{CheckoutContext, CheckoutError, PaymentGateway};

/// A choice on the hosted page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageMethod {
    pub provider: ProviderName,
    /// Whether it moves real money.
    pub is_live: bool,
    /// The account of the store with which payments start; `None` for a provider without accounts.
    pub account: Option<PaymentAccountId>,
}

/// The choices on the hosted page of a store, for sessions of a sandbox or for real ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageMethods(Vec<PageMethod>);

impl PageMethods {
    /// Returns the choices, in the order in which they are shown.
    pub fn iter(&self) -> impl Iterator<Item = &PageMethod> {
        self.0.iter()
    }

    /// Returns the choice of a provider, if the store has it.
    #[must_use]
    pub fn find(&self, provider: ProviderName) -> Option<PageMethod> {
        self.iter().find(|method| method.provider == provider).copied()
    }

    /// Returns whether nobody can pay on the hosted page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether no real money can be paid.
    #[must_use]
    pub fn is_test(&self) -> bool {
        !self.iter().any(|method| method.is_live)
    }

    /// Returns the methods that an agent can name. The test provider stands for a card.
    #[must_use]
    pub fn payment_methods(&self) -> Vec<PaymentMethod> {
        let mut methods = Vec::new();
        for method in self.iter().filter_map(|method| method_of(method.provider)) {
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        methods
    }
}

impl FromIterator<PageMethod> for PageMethods {
    fn from_iter<T: IntoIterator<Item = PageMethod>>(methods: T) -> Self {
        Self(methods.into_iter().collect())
    }
}

const fn method_of(provider: ProviderName) -> Option<PaymentMethod> {
    match provider {
        ProviderName::Test | ProviderName::Stripe => Some(PaymentMethod::Stripe),
        ProviderName::Paypal => Some(PaymentMethod::Paypal),
        ProviderName::Merchant | ProviderName::X402 => None,
    }
}

impl PaymentGateway {
    /// Returns what a person can pay with at a store that has these accounts. What moves real money is for real sessions only, and
    /// what moves none for sandboxes, and for real sessions only if test payments are allowed.
    #[must_use]
    pub(crate) fn methods_with(
        &self,
        accounts: &[PaymentAccount],
        is_sandbox: bool,
    ) -> PageMethods {
        let method = |name: ProviderName| {
            let provider = self.provider(name)?;
            if !provider.needs_account() {
                let is_live = provider.is_live();
                return Some(PageMethod { provider: name, is_live, account: None });
            }
            let account = accounts.iter().find(|account| account.provider == name)?;
            let (is_live, account) = (account.is_live, Some(account.id));
            Some(PageMethod { provider: name, is_live, account })
        };
        let on_page = ProviderName::ALL.iter().copied().filter(|name| name.is_on_hosted_page());
        let methods = on_page.filter_map(method);
        methods.filter(|it| self.allows(it.is_live, is_sandbox)).collect()
    }

    /// Returns what a person can pay with at a store.
    pub async fn methods(
        &self,
        database: &Database,
        merchant: MerchantId,
        is_sandbox: bool,
    ) -> Result<PageMethods, DatabaseError> {
        let accounts = if self.has_accounts() {
            payments::accounts(&Reading::for_store(database, merchant)?, merchant).await?
        } else {
            Vec::new()
        };
        Ok(self.methods_with(&accounts, is_sandbox))
    }

    /// Returns whether a person can pay on the hosted page of a store.
    pub(crate) async fn takes_payments(
        &self,
        database: &Database,
        merchant: MerchantId,
        is_sandbox: bool,
    ) -> Result<bool, DatabaseError> {
        let is_without_account = !self.methods_with(&[], is_sandbox).is_empty();
        Ok(is_without_account || !self.methods(database, merchant, is_sandbox).await?.is_empty())
    }

    /// Returns what a person can pay with at a store, in the transaction that starts a payment.
    pub(crate) async fn methods_now(
        &self,
        work: &mut Work,
        merchant: MerchantId,
        is_sandbox: bool,
    ) -> Result<PageMethods, CheckoutError> {
        let accounts = payments::accounts_now(work, merchant).await?;
        Ok(self.methods_with(&accounts, is_sandbox))
    }

    /// Returns whether a provider is configured at which stores have accounts.
    fn has_accounts(&self) -> bool {
        let mut names = ProviderName::ALL.iter();
        names.any(|name| self.provider(*name).is_some_and(Provider::needs_account))
    }
}

impl CheckoutContext<'_> {
    /// Returns what a person can pay with on the hosted page of the store.
    pub async fn methods(&self, is_sandbox: bool) -> Result<PageMethods, CheckoutError> {
        Ok(self.gateway.methods(self.database, self.merchant(), is_sandbox).await?)
    }
}
