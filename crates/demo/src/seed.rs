//! Putting the world into a database, through the same verbs everyone uses.

use std::time::Duration;

use catalog::{
    CatalogError, Category, CategoryPath, Condition, Done, Incoming, NewProduct, NewVariant,
    Origin, ProductPolicies, StockStatus,
};
use database::{Database, DatabaseError, Work};
use merchants::{IdentityStatus, NewStore, SettingsError, Standing, StoreError};
use primitives::{
    CategoryId, Currency, Id, MerchantId, Money, MoneyError, ProductId, StoreSlug, Timestamp,
    VariantId,
};
use trust::TrustError;

use crate::world::{Product, Store, Variant, World};
use crate::{past, reviews};

/// Products written in one work; with their variants they stay below five hundred rows.
const PRODUCTS_PER_WORK: usize = 60;

/// The day the world counts back from: 2026-11-01. Fixed, so that seeding again changes nothing.
pub(crate) const PRESENT: i64 = 1_793_491_200_000_000;

/// What seeding did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seeded {
    /// Stores there are now.
    pub stores: usize,
    /// Products there are now.
    pub products: usize,
    /// Products that were new or different.
    pub changed: usize,
}

/// Why seeding failed.
#[derive(Debug, thiserror::Error)]
pub enum SeedError {
    /// A store could not be registered.
    #[error("a store of the demo world could not be registered")]
    Store(#[from] StoreError),
    /// What a store sets could not be put.
    #[error("the settings of a store of the demo world could not be put")]
    Settings(#[from] SettingsError),
    /// The history of a score could not be kept.
    #[error("a score of the demo world could not be kept")]
    Trust(#[from] TrustError),
    /// A product could not be brought in.
    #[error("a product of the demo world could not be brought in")]
    Catalog(#[from] CatalogError),
    /// The database was in the way.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The world contradicts itself.
    #[error("the demo world holds something that is not valid: {0}")]
    Invalid(&'static str),
}

impl From<MoneyError> for SeedError {
    fn from(_: MoneyError) -> Self {
        Self::Invalid("a currency")
    }
}

/// Seeds the world; `progress` hears of each store. Seeding again brings everything back to what the
/// world says and writes only what differs.
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

async fn seed_store(
    database: &Database,
    merchant: MerchantId,
    store: &Store,
) -> Result<(), SeedError> {
    let mut work = Work::for_platform(database).await?;
    let minute = Duration::from_mins(u64::from(store.last_sync_minutes_ago));
    let new = NewStore {
        merchant,
        slug: store.slug.parse::<StoreSlug>().map_err(|_| SeedError::Invalid("a slug"))?,
        name: store.name.to_owned(),
        legal_name: store.legal_name.to_owned(),
        description: store.description.to_owned(),
        website_url: store.website_url.to_owned(),
        platform: store.platform.to_owned(),
        active: store.active,
        country: store.country.to_owned(),
        currency: store.currency.parse()?,
        languages: owned(&store.languages),
        ships_to: owned(&store.ships_to),
        support_email: store.support_email.to_owned(),
        member_since: days_ago(store.member_since_days_ago),
        last_sync_at: Some(work.now().minus(minute)),
    };
    merchants::register(&mut work, &new).await?;
    let standing = Standing {
        score: store.trust_score,
        provisional: store.provisional,
        computed_at: work.now(),
    };
    merchants::set_standing(&mut work, merchant, &standing).await?;
    merchants::set_identity(&mut work, merchant, &identity(store)).await?;
    let settings = crate::offers::settings(store, policies(store));
    merchants::put_settings(&mut work, merchant, &settings, None).await?;
    let present = Timestamp::from_unix_micros(PRESENT);
    for computation in past::scores(store.id, store.trust_score, store.provisional, present) {
        trust::append(&mut work, merchant, &computation).await?;
    }
    work.commit().await?;
    Ok(())
}

fn identity(store: &Store) -> merchants::Identity {
    merchants::Identity {
        status: IdentityStatus::from_name(store.identity.status),
        level: store.identity.level.map(str::to_owned),
        method: store.identity.method.map(str::to_owned),
        verified_at: store.identity.verified_days_ago.map(days_ago),
    }
}

fn policies(store: &Store) -> merchants::Policies {
    let policies = &store.policies;
    merchants::Policies {
        return_window_days: policies.return_window_days.map(i32::from),
        free_shipping_threshold_minor: policies.free_shipping_threshold_minor,
        shipping_days_min: policies.shipping_days.map(|(min, _)| i32::from(min)),
        shipping_days_max: policies.shipping_days.map(|(_, max)| i32::from(max)),
        return_summary: policies.return_summary.map(str::to_owned),
        shipping_summary: policies.shipping_summary.map(str::to_owned),
        privacy_url: policies.privacy_url.map(str::to_owned),
        terms_url: policies.terms_url.map(str::to_owned),
        warranty_months: policies.warranty_months.map(i32::from),
    }
}

/// Answers how many products were new or different.
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
            name: category.name.to_owned(),
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
        changed += put.iter().filter(|put| put.done != Done::Unchanged).count();
        work.commit().await?;
    }
    let mut work = Work::for_store(database, merchant).await?;
    catalog::sum_up(&mut work, merchant).await?;
    catalog::measure(&mut work, merchant).await?;
    work.commit().await?;
    Ok(changed)
}

fn incoming(store: &Store, product: &Product) -> Result<Incoming, SeedError> {
    let currency: Currency = product.currency.parse()?;
    let variants = product.variants.iter().map(|variant| variant_facts(variant, currency));
    Ok(Incoming {
        id: Some(ProductId::from_uuid(product.id)),
        category: CategoryPath::named(&product.category, names(store, &product.category)),
        facts: facts(product, currency)?,
        variants: variants.collect::<Result<_, _>>()?,
        reviews: reviews::of(store, product),
    })
}

/// The names on the way to a category, from the top.
fn names(store: &Store, path: &str) -> Vec<String> {
    let above = path.match_indices('/').map(|(end, _)| &path[..end]).chain([path]);
    let named = |path: &str| store.categories.iter().find(|category| category.path == path);
    above.filter_map(named).map(|category| category.name.to_owned()).collect()
}

fn facts(product: &Product, currency: Currency) -> Result<NewProduct, SeedError> {
    let rating = product.rating.as_ref().map(|rating| catalog::Rating {
        hundredths: i32::from(rating.average_hundredths),
        count: i32::try_from(rating.count).unwrap_or(i32::MAX),
    });
    let image = |image: &crate::world::Image| catalog::Image {
        url: image.path.clone(),
        alt: image.alt.clone(),
    };
    Ok(NewProduct {
        external_id: product.sku.clone(),
        sku: product.sku.clone(),
        name: product.name.to_owned(),
        description: product.description.clone(),
        brand: product.brand.to_owned(),
        gtin: product.gtin.clone(),
        mpn: None,
        url: None,
        category: product.category.clone(),
        condition: Condition::from_name(product.condition)
            .ok_or(SeedError::Invalid("a condition"))?,
        price: Money::new(product.price_minor, currency),
        list_price_minor: product.list_price_minor,
        stock_status: stock(product.stock_status)?,
        stock_quantity: product.stock_quantity,
        rating,
        attributes: product.attributes.iter().cloned().collect(),
        images: product.images.iter().map(image).collect(),
        policies: ProductPolicies::default(),
        listed_at: Some(days_ago(product.created_days_ago)),
    })
}

fn variant_facts(
    variant: &Variant,
    currency: Currency,
) -> Result<(Option<VariantId>, NewVariant), SeedError> {
    let new = NewVariant {
        sku: variant.sku.clone(),
        name: variant.name.clone(),
        gtin: variant.gtin.clone(),
        options: variant.options.iter().cloned().collect(),
        image: None,
        price: Money::new(variant.price_minor, currency),
        list_price_minor: None,
        stock_status: stock(variant.stock_status)?,
        stock_quantity: variant.stock_quantity,
    };
    Ok((Some(VariantId::from_uuid(variant.id)), new))
}

fn category_id(store: &Store, path: &str) -> Result<CategoryId, SeedError> {
    let found = store.categories.iter().find(|category| category.path == path);
    found.map(|category| CategoryId::from_uuid(category.id)).ok_or(SeedError::Invalid("a category"))
}

fn stock(name: &str) -> Result<StockStatus, SeedError> {
    StockStatus::from_name(name).ok_or(SeedError::Invalid("a stock status"))
}

pub(crate) fn days_ago(days: u32) -> Timestamp {
    Timestamp::from_unix_micros(PRESENT).minus(Duration::from_hours(24 * u64::from(days)))
}

fn owned(texts: &[&'static str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}
