//! The payment providers of a process, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{Provider, ProviderName};

/// The configured payment providers. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Providers(Arc<BTreeMap<ProviderName, Arc<dyn Provider>>>);

impl Providers {
    /// Creates a registry. Of two providers with one name, the last one counts.
    pub fn new(providers: impl IntoIterator<Item = Arc<dyn Provider>>) -> Self {
        Self(Arc::new(providers.into_iter().map(|it| (it.name(), it)).collect()))
    }

    /// Adds a provider.
    #[must_use]
    pub fn with(self, provider: impl Provider + 'static) -> Self {
        let mut providers = BTreeMap::clone(&self.0);
        providers.insert(provider.name(), Arc::new(provider) as Arc<dyn Provider>);
        Self(Arc::new(providers))
    }

    /// Returns the provider with this name, if it is configured.
    #[must_use]
    pub fn find(&self, name: ProviderName) -> Option<&dyn Provider> {
        self.0.get(&name).map(AsRef::as_ref)
    }

    /// Returns all providers, in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &dyn Provider> {
        self.0.values().map(AsRef::as_ref)
    }
}

impl<P: Provider + 'static> From<Arc<P>> for Providers {
    fn from(provider: Arc<P>) -> Self {
        Self::new([provider as Arc<dyn Provider>])
    }
}
