//! A store for tests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use catalog::{Amount, Incoming, Origin, ProductDraft};
use database::{Database, Work};
use identity::{Actor, IssuedKey, NewAgentKey, NewPerson, NewStoreKey, Secret};
use merchants::{
    Identity, NewStore, Policies, Settings, SettingsChange, ShippingRate, ShippingZone, Standing,
    Store, StoreCache,
};
use primitives::{Currency, Id, MerchantId, Plan, ProductId, Scope, StoreSlug, Timestamp};

/// Builds a store. By default it is active, sells in euros, and has neither products nor settings, score or keys.
///
/// ```rust,ignore
/// let store = StoreBuilder::new("attic")
///     .shipping("DE", 490)
///     .score(0.9)
///     .product(product_draft("lamp", "12.50", 3))
///     .build(test.database())
///     .await;
/// ```
#[must_use = "`build` creates the store"]
pub struct StoreBuilder {
    store: NewStore,
    /// `None` for a generated id.
    merchant: Option<MerchantId>,
    policies: Option<Policies>,
    settings: Settings,
    #[expect(
        clippy::option_option,
        reason = "no standing at all differs from a standing without a score"
    )]
    standing: Option<Option<f64>>,
    identity: Option<Identity>,
    catalog_summary: Option<(Vec<String>, i64)>,
    products: Vec<ProductDraft>,
    store_key: Option<Secret>,
    agent_key: Option<(Secret, BTreeSet<Scope>)>,
}

/// A store that [`StoreBuilder`] created.
#[derive(Debug)]
pub struct TestStore {
    pub merchant: MerchantId,
    pub slug: StoreSlug,
    pub currency: Currency,
    /// Ids of the products, in the order in which they were added to the builder.
    pub products: Vec<ProductId>,
    store_key: Option<IssuedKey>,
    agent_key: Option<IssuedKey>,
}

impl StoreBuilder {
    /// Starts with the defaults.
    pub fn new(slug: &str) -> Self {
        let store = NewStore {
            // Replaced when the store is built.
            merchant: MerchantId::from_random(0),
            slug: slug.parse().expect("the slug is valid"),
            name: slug.to_owned(),
            legal_name: format!("{slug} Ltd"),
            description: String::from("Old things."),
            website_url: format!("https://{slug}.example"),
            platform: String::from("api"),
            active: true,
            country: String::from("IE"),
            currency: Currency::EUR,
            languages: vec![String::from("en")],
            ships_to: vec![String::from("IE")],
            support_email: format!("help@{slug}.example"),
            member_since: Timestamp::from_unix_micros(0),
            last_sync_at: None,
        };
        Self {
            store,
            merchant: None,
            policies: None,
            settings: Settings::default(),
            standing: None,
            identity: None,
            catalog_summary: None,
            products: Vec::new(),
            store_key: None,
            agent_key: None,
        }
    }

    /// Sets the id of the merchant. Without it one is generated.
    pub fn merchant(mut self, merchant: MerchantId) -> Self {
        self.merchant = Some(merchant);
        self
    }

    /// Sets the currency.
    pub fn currency(mut self, currency: Currency) -> Self {
        self.store.currency = currency;
        self
    }

    /// Sets whether the store is active.
    pub fn active(mut self, active: bool) -> Self {
        self.store.active = active;
        self
    }

    /// Changes any other field of the new store.
    pub fn with(mut self, change: impl FnOnce(&mut NewStore)) -> Self {
        change(&mut self.store);
        self
    }

    /// Sets the policies without a version of the settings.
    pub fn policies(mut self, policies: Policies) -> Self {
        self.policies = Some(policies);
        self
    }

    /// Sets the settings.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Adds a shipping zone of one country with one rate, in minor units.
    pub fn shipping(mut self, country: &str, price_minor: i64) -> Self {
        let rate = ShippingRate {
            name: String::from("standard"),
            price_minor,
            min_subtotal_minor: None,
            days_min: 2,
            days_max: 4,
        };
        self.settings.shipping.push(ShippingZone {
            name: String::from("home"),
            countries: vec![country.to_owned()],
            rates: vec![rate],
        });
        self
    }

    /// Sets the trust score; `None` for a store whose score could not be computed.
    pub fn score(mut self, score: impl Into<Option<f64>>) -> Self {
        self.standing = Some(score.into());
        self
    }

    /// Sets the identity check.
    pub fn identity(mut self, identity: Identity) -> Self {
        self.identity = Some(identity);
        self
    }

    /// Sets the summary of the catalog, without products.
    pub fn catalog_summary(mut self, departments: &[&str], product_count: i64) -> Self {
        let departments = departments.iter().map(|name| (*name).to_owned()).collect();
        self.catalog_summary = Some((departments, product_count));
        self
    }

    /// Adds a product.
    pub fn product(mut self, draft: ProductDraft) -> Self {
        self.products.push(draft);
        self
    }

    /// Issues a store key under this secret.
    pub fn store_key(mut self, secret: &Secret) -> Self {
        self.store_key = Some(secret.clone());
        self
    }

    /// Issues an agent key with these scopes under this secret, to a new account.
    pub fn agent_key(mut self, secret: &Secret, scopes: &[Scope]) -> Self {
        self.agent_key = Some((secret.clone(), scopes.iter().copied().collect()));
        self
    }

    /// Returns the new store without creating it, for tests that register it themselves.
    ///
    /// # Panics
    /// If the merchant is not set.
    #[must_use]
    pub fn into_new_store(self) -> NewStore {
        let merchant = self.merchant.expect("the merchant is set");
        NewStore { merchant, ..self.store }
    }

    /// Creates the store.
    pub async fn build(mut self, database: &Database) -> TestStore {
        let mut work = Work::for_platform(database).await.expect("the database responds");
        let merchant = self.merchant.unwrap_or_else(|| work.new_id());
        self.store.merchant = merchant;
        merchants::register(&mut work, &self.store).await.expect("the store can be registered");
        self.describe(&mut work).await;
        let store_key = match &self.store_key {
            Some(secret) => Some(issue_store_key(&mut work, secret, merchant).await),
            None => None,
        };
        let agent_key = match &self.agent_key {
            Some((secret, scopes)) => Some(issue_agent_key(&mut work, secret, scopes).await),
            None => None,
        };
        work.commit().await.expect("the store commits");
        let NewStore { slug, currency, .. } = self.store;
        let products = Vec::new();
        let mut store = TestStore { merchant, slug, currency, products, store_key, agent_key };
        if self.settings != Settings::default() {
            store.put_settings(database, &self.settings).await;
        }
        if !self.products.is_empty() {
            store.products = store.put_products(database, &self.products).await;
        }
        store
    }

    /// Writes what else is known of the store.
    async fn describe(&self, work: &mut Work) {
        let merchant = self.store.merchant;
        if let Some(policies) = &self.policies {
            let set = merchants::set_policies(work, merchant, policies).await;
            set.expect("the policies can be set");
        }
        if let Some(score) = self.standing {
            set_standing(work, merchant, score).await;
        }
        if let Some(identity) = &self.identity {
            let set = merchants::set_identity(work, merchant, identity).await;
            set.expect("the identity check can be set");
        }
        if let Some((departments, product_count)) = &self.catalog_summary {
            let set =
                merchants::set_catalog_summary(work, merchant, departments, *product_count).await;
            set.expect("the catalog summary can be set");
        }
    }
}

impl TestStore {
    /// Loads the store as other crates use it.
    pub async fn load(&self, database: &Database) -> Arc<Store> {
        let stores = StoreCache::new(database.clone(), Duration::ZERO);
        stores.find(&self.slug).await.expect("the store exists")
    }

    /// Returns the store key.
    ///
    /// # Panics
    /// If the builder was not asked for one.
    #[must_use]
    pub fn store_key(&self) -> &IssuedKey {
        self.store_key.as_ref().expect("StoreBuilder::store_key was called")
    }

    /// Returns the agent key.
    ///
    /// # Panics
    /// If the builder was not asked for one.
    #[must_use]
    pub fn agent_key(&self) -> &IssuedKey {
        self.agent_key.as_ref().expect("StoreBuilder::agent_key was called")
    }

    /// Creates or updates products, and returns their ids in the same order.
    pub async fn put_products(
        &self,
        database: &Database,
        drafts: &[ProductDraft],
    ) -> Vec<ProductId> {
        let check = |draft: &ProductDraft| -> Incoming {
            catalog::check(draft, self.currency).expect("the draft is valid")
        };
        let incoming: Vec<Incoming> = drafts.iter().map(check).collect();
        let mut work = self.work(database).await;
        let put = catalog::put_products(&mut work, self.merchant, Origin::Push, &incoming).await;
        let put = put.expect("the products can be put");
        work.commit().await.expect("the products commit");
        put.into_iter().map(|result| result.id).collect()
    }

    /// Replaces the settings.
    pub async fn put_settings(&self, database: &Database, settings: &Settings) {
        let mut work = Work::for_platform(database).await.expect("the database responds");
        let change = SettingsChange::by_operator(settings);
        let put = merchants::put_settings(&mut work, self.merchant, &change).await;
        put.expect("the settings are valid");
        work.commit().await.expect("the settings commit");
    }

    /// Sets the trust score.
    pub async fn set_score(&self, database: &Database, score: impl Into<Option<f64>>) {
        let mut work = Work::for_platform(database).await.expect("the database responds");
        set_standing(&mut work, self.merchant, score.into()).await;
        work.commit().await.expect("the standing commits");
    }

    async fn work(&self, database: &Database) -> Work {
        Work::for_store(database, self.merchant).await.expect("the database responds")
    }
}

/// Returns a product draft with a price and a stock quantity. The name is also the external id.
#[must_use]
pub fn product_draft(name: &str, price: &str, quantity: i64) -> ProductDraft {
    ProductDraft {
        external_id: name.to_owned(),
        name: Some(name.to_owned()),
        price: Some(Amount::new(price)),
        stock_quantity: Some(quantity),
        ..ProductDraft::default()
    }
}

async fn set_standing(work: &mut Work, merchant: MerchantId, score: Option<f64>) {
    let standing = Standing { score, provisional: false, computed_at: work.now() };
    let set = merchants::set_standing(work, merchant, &standing).await;
    set.expect("the standing can be set");
}

async fn issue_store_key(work: &mut Work, secret: &Secret, merchant: MerchantId) -> IssuedKey {
    let (actor, new) = (Actor::Operator, NewStoreKey::new("test").with_all_scopes());
    let issued = identity::issue_store_key(work, secret, actor, merchant, &new).await;
    issued.expect("a store key can be issued").0
}

async fn issue_agent_key(work: &mut Work, secret: &Secret, scopes: &BTreeSet<Scope>) -> IssuedKey {
    let email = "ada@example.com".parse().expect("the email is valid");
    let person = NewPerson { email, plan: Plan::Free, is_admin: false };
    let password = "correct horse battery";
    let owner = identity::create_person(work, Actor::Operator, &person, password).await;
    let owner = owner.expect("an account can be created");
    let new = NewAgentKey { scopes: scopes.clone(), ..NewAgentKey::default() };
    let issued = identity::issue_agent_key(work, secret, owner, &new).await;
    issued.expect("an agent key can be issued").0
}
