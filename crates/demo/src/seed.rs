//! Writing the demo data to a database, through the functions that every merchant's data passes.

use std::time::Duration;

use catalog::{CatalogError, Category, FieldError, Incoming, Origin, PutOutcome};
use checkout::{CheckoutError, PastCheckout};
use database::{Database, DatabaseError, Work};
use identity::IdentityError;
use merchants::{IdentityStatus, NewStore, SettingsChange, SettingsError, StoreError};
use orders::{OrderDetails, OrderError};
use primitives::{CategoryId, FeedRunId, Id, MerchantId, MoneyError, StoreSlug, Timestamp};
use trust::{MethodologyVersion, TrustError};

use crate::agents::agents;
use crate::draft::incoming;
use crate::hash::fnv1a;
use crate::past::purchases;
use crate::past_order::Record;
use crate::settings::settings;
use crate::world::{Store, World, id, world};

/// Products written in one transaction; with their variants they stay below five hundred rows.
const PRODUCTS_PER_WORK: usize = 60;

/// Products retired in one transaction.
const RETIRED_PER_WORK: i64 = 500;

/// 2026-11-01, the time that the ages of stores and products refer to. Fixed, so that seeding again changes nothing.
const REFERENCE_TIME_MICROS: i64 = 1_793_491_200_000_000;

/// How far back scores are computed.
const SCORED_FOR: Duration = Duration::from_hours(90 * 24);

/// Result of seeding.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seeded {
    pub stores: usize,
    pub products: usize,
    /// Products that were created or updated.
    pub changed: usize,
}

/// Error while seeding.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    #[error("registering a demo store failed")]
    Store(#[from] StoreError),
    #[error("writing the settings of a demo store failed")]
    Settings(#[from] SettingsError),
    #[error("writing the agents of the demo data failed")]
    Agents(#[from] IdentityError),
    #[error("writing the orders of a demo store failed")]
    Orders(#[from] OrderError),
    #[error("writing the checkouts of a demo store failed")]
    Checkouts(#[from] CheckoutError),
    #[error("computing the scores of a demo store failed")]
    Trust(#[from] TrustError),
    #[error("writing demo products failed")]
    Catalog(#[from] CatalogError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("product {sku} of {store} is invalid: {}", reasons(errors))]
    Rejected { store: String, sku: String, errors: Vec<FieldError> },
    #[error("the demo data contains an invalid {0}")]
    Invalid(&'static str),
}

fn reasons(errors: &[FieldError]) -> String {
    let reasons = errors.iter().map(|error| format!("{} {}", error.field, error.reason));
    reasons.collect::<Vec<_>>().join("; ")
}

impl From<MoneyError> for SeedError {
    fn from(_: MoneyError) -> Self {
        Self::Invalid("currency")
    }
}

/// Writes all stores with their products and their past, and calls `progress` after each store. Seeding again restores products
/// that differ, adds what has happened since, and writes nothing else. Other products of the stores stay; see [`retire_others`].
pub async fn seed(
    database: &Database,
    world: &World,
    progress: impl FnMut(&Store),
) -> Result<Seeded, SeedError> {
    seed_by(database, world, MethodologyVersion::V20, progress).await
}

/// Does the same while another methodology may be in force: the standing of the stores is by that one.
pub async fn seed_by(
    database: &Database,
    world: &World,
    in_force: MethodologyVersion,
    mut progress: impl FnMut(&Store),
) -> Result<Seeded, SeedError> {
    let mut work = Work::for_platform(database).await?;
    identity::import_agents(&mut work, &agents()?).await?;
    work.commit().await?;
    let mut seeded = Seeded::default();
    for store in &world.stores {
        let merchant = MerchantId::from_uuid(store.id);
        let member_since = seed_store(database, merchant, store).await?;
        seeded.changed += seed_catalog(database, merchant, store).await?;
        seed_past(database, merchant, store, member_since, in_force).await?;
        seeded.stores += 1;
        seeded.products += store.products.len();
        progress(store);
    }
    Ok(seeded)
}

/// Returns a number that changes with the demo data, for copies of it that tests keep.
#[must_use]
pub fn fingerprint() -> u64 {
    let world = world();
    let past = |store: &Store| purchases(store, days_ago(store.member_since_days_ago), days_ago(0));
    let past: Vec<_> = world.stores.iter().map(past).collect();
    fnv1a(&format!("{world:?}{past:?}"))
}

/// Retires the products of the demo stores that are not demo data, and returns their number. The stores must exist.
pub async fn retire_others(database: &Database, world: &World) -> Result<usize, SeedError> {
    let mut retired = 0;
    for store in &world.stores {
        let merchant = MerchantId::from_uuid(store.id);
        let kept: Vec<String> = store.products.iter().map(|product| product.sku.clone()).collect();
        loop {
            let mut work = Work::for_store(database, merchant).await?;
            let others = catalog::retire_others(&mut work, merchant, &kept, RETIRED_PER_WORK);
            let others = others.await?.len();
            if others > 0 {
                catalog::refresh_counts(&mut work, merchant).await?;
            }
            work.commit().await?;
            if others == 0 {
                break;
            }
            catalog::refresh_quality(database, merchant).await?;
            retired += others;
        }
    }
    Ok(retired)
}

/// Returns since when the store exists.
async fn seed_store(
    database: &Database,
    merchant: MerchantId,
    store: &Store,
) -> Result<Timestamp, SeedError> {
    let mut work = Work::for_platform(database).await?;
    let member_since = member_since(&mut work, merchant, store).await?;
    let since_sync = Duration::from_mins(u64::from(store.last_sync_minutes_ago));
    let new = NewStore {
        merchant,
        slug: store.slug.parse::<StoreSlug>().map_err(|_| SeedError::Invalid("slug"))?,
        name: store.name.clone(),
        legal_name: store.legal_name.clone(),
        description: store.description.clone(),
        website_url: store.website_url.clone(),
        platform: store.platform.clone(),
        active: store.active,
        country: store.country.clone(),
        currency: store.currency.parse()?,
        languages: store.languages.clone(),
        ships_to: store.ships_to.clone(),
        support_email: store.support_email.clone(),
        member_since,
        last_sync_at: Some(work.now().minus(since_sync)),
    };
    merchants::register(&mut work, &new).await?;
    merchants::set_identity(&mut work, merchant, &identity(store)?).await?;
    let settings = settings(store);
    let change = SettingsChange::by_operator(&settings);
    merchants::put_settings(&mut work, merchant, &change).await?;
    trust::mark_synthetic(&mut work, merchant).await?;
    work.commit().await?;
    Ok(member_since)
}

/// A store whose age is 0 joins when it is seeded first.
async fn member_since(
    work: &mut Work,
    merchant: MerchantId,
    store: &Store,
) -> Result<Timestamp, SeedError> {
    if store.member_since_days_ago > 0 {
        return Ok(days_ago(store.member_since_days_ago));
    }
    match merchants::store_now(work, merchant).await {
        Ok(known) => Ok(known.member_since),
        Err(StoreError::NotFound) => Ok(work.now()),
        Err(error) => Err(error.into()),
    }
}

fn identity(store: &Store) -> Result<merchants::Identity, SeedError> {
    let identity = &store.identity;
    Ok(merchants::Identity {
        status: IdentityStatus::parse(&identity.status)
            .ok_or(SeedError::Invalid("identity status"))?,
        level: identity.level.clone(),
        method: identity.method.clone(),
        verified_at: identity.verified_days_ago.map(days_ago),
    })
}

/// Writes the products as a feed: how recent a catalog is follows from the last synchronization of its store. Returns the number
/// of products that were created or updated.
async fn seed_catalog(
    database: &Database,
    merchant: MerchantId,
    store: &Store,
) -> Result<usize, SeedError> {
    let mut work = Work::for_store(database, merchant).await?;
    for category in &store.categories {
        let parent = category.parent.as_deref().map(|path| category_id(store, path)).transpose()?;
        let category = Category {
            id: CategoryId::from_uuid(category.id),
            parent,
            path: category.path.clone(),
            name: category.name.clone(),
        };
        catalog::put_category(&mut work, merchant, &category).await?;
    }
    work.commit().await?;

    let mut changed = 0;
    for products in store.products.chunks(PRODUCTS_PER_WORK) {
        let products: Vec<Incoming> =
            products.iter().map(|product| incoming(store, product)).collect::<Result<_, _>>()?;
        let mut work = Work::for_store(database, merchant).await?;
        let run = FeedRunId::from_uuid(id(&format!("feed/{}", store.slug)));
        let origin = Origin::FeedRun { run, received_at: work.now() };
        let put = catalog::put_products(&mut work, merchant, origin, &products).await?;
        changed += put.iter().filter(|put| put.outcome != PutOutcome::Unchanged).count();
        work.commit().await?;
    }
    let mut work = Work::for_store(database, merchant).await?;
    catalog::refresh_counts(&mut work, merchant).await?;
    work.commit().await?;
    catalog::refresh_quality(database, merchant).await?;
    Ok(changed)
}

/// Writes the purchases of agents at the store, and computes the scores that follow from them.
async fn seed_past(
    database: &Database,
    merchant: MerchantId,
    store: &Store,
    member_since: Timestamp,
    in_force: MethodologyVersion,
) -> Result<(), SeedError> {
    let mut work = Work::for_orders(database, merchant).await?;
    let now = work.now();
    let mut orders: Vec<OrderDetails> = Vec::new();
    let mut checkouts: Vec<PastCheckout> = Vec::new();
    for purchase in purchases(store, member_since, now) {
        let record = Record { store, purchase: &purchase, now };
        let Some(order) = record.order()? else { continue };
        checkouts.extend(record.checkouts(&order.order));
        orders.push(order);
    }
    orders::import(&mut work, merchant, &orders).await?;
    checkout::import(&mut work, merchant, &checkouts).await?;
    work.commit().await?;
    let mut work = Work::for_platform(database).await?;
    let since = member_since.max(work.now().minus(SCORED_FOR));
    trust::score_past(&mut work, merchant, since, in_force).await?;
    work.commit().await?;
    Ok(())
}

fn category_id(store: &Store, path: &str) -> Result<CategoryId, SeedError> {
    let found = store.categories.iter().find(|category| category.path == path);
    found.map(|category| CategoryId::from_uuid(category.id)).ok_or(SeedError::Invalid("category"))
}

/// Returns the time this many days before the reference time.
pub(crate) fn days_ago(days: u32) -> Timestamp {
    let age = Duration::from_hours(24 * u64::from(days));
    Timestamp::from_unix_micros(REFERENCE_TIME_MICROS).minus(age)
}
