//! Writing the demo data to a database, through the functions that every merchant's data passes.

use std::time::Duration;

use catalog::{CatalogError, Category, FieldError, Incoming, Origin, PutOutcome};
use database::{Database, DatabaseError, Work};
use merchants::{IdentityStatus, NewStore, SettingsChange, SettingsError, Standing, StoreError};
use primitives::{CategoryId, Id, MerchantId, MoneyError, StoreSlug, Timestamp};
use trust::TrustError;

use crate::draft::incoming;
use crate::score_history;
use crate::settings::settings;
use crate::world::{Store, World};

/// Products written in one transaction; with their variants they stay below five hundred rows.
const PRODUCTS_PER_WORK: usize = 60;

/// Products retired in one transaction.
const RETIRED_PER_WORK: i64 = 500;

/// 2026-11-01, the time that all ages refer to. Fixed, so that seeding again changes nothing.
const REFERENCE_TIME_MICROS: i64 = 1_793_491_200_000_000;

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
    #[error("writing the score history of a demo store failed")]
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

/// Writes all stores and their products and calls `progress` after each store. Seeding again restores what
/// differs and writes nothing else. Other products of the stores stay; see [`retire_others`].
pub async fn seed(
    database: &Database,
    world: &World,
    mut progress: impl FnMut(&Store),
) -> Result<Seeded, SeedError> {
    let mut seeded = Seeded::default();
    for store in &world.stores {
        let merchant = MerchantId::from_uuid(store.id);
        seed_store(database, merchant, store).await?;
        seeded.changed += seed_catalog(database, merchant, store).await?;
        seeded.stores += 1;
        seeded.products += store.products.len();
        progress(store);
    }
    Ok(seeded)
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
                catalog::refresh_quality(&mut work, merchant).await?;
            }
            work.commit().await?;
            if others == 0 {
                break;
            }
            retired += others;
        }
    }
    Ok(retired)
}

async fn seed_store(
    database: &Database,
    merchant: MerchantId,
    store: &Store,
) -> Result<(), SeedError> {
    let mut work = Work::for_platform(database).await?;
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
        member_since: days_ago(store.member_since_days_ago),
        last_sync_at: Some(work.now().minus(since_sync)),
    };
    merchants::register(&mut work, &new).await?;
    let standing = Standing {
        score: store.trust_score,
        provisional: store.provisional,
        computed_at: work.now(),
    };
    merchants::set_standing(&mut work, merchant, &standing).await?;
    merchants::set_identity(&mut work, merchant, &identity(store)?).await?;
    let settings = settings(store);
    let change = SettingsChange::by_operator(&settings);
    merchants::put_settings(&mut work, merchant, &change).await?;
    let history =
        score_history::scores(store.id, store.trust_score, store.provisional, days_ago(0));
    for computation in history {
        trust::append(&mut work, merchant, &computation).await?;
    }
    work.commit().await?;
    Ok(())
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

/// Returns the number of products that were created or updated.
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
        let put = catalog::put_products(&mut work, merchant, Origin::Push, &products).await?;
        changed += put.iter().filter(|put| put.outcome != PutOutcome::Unchanged).count();
        work.commit().await?;
    }
    let mut work = Work::for_store(database, merchant).await?;
    catalog::refresh_counts(&mut work, merchant).await?;
    catalog::refresh_quality(&mut work, merchant).await?;
    work.commit().await?;
    Ok(changed)
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
