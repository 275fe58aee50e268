//! A store to try things on.

use database::{Database, Work};
use merchants::NewStore;
use primitives::{Currency, MerchantId, StoreSlug, Timestamp};

/// Registers an active store that has nothing special about it.
pub async fn open_store(database: &Database, merchant: MerchantId, slug: &str, currency: Currency) {
    let store = NewStore {
        merchant,
        slug: slug.parse::<StoreSlug>().expect("the slug is valid"),
        name: slug.to_owned(),
        legal_name: format!("{slug} Ltd"),
        description: String::from("Old things."),
        website_url: format!("https://{slug}.example"),
        platform: String::from("api"),
        active: true,
        country: String::from("IE"),
        currency,
        languages: vec![String::from("en")],
        ships_to: vec![String::from("IE")],
        support_email: format!("help@{slug}.example"),
        member_since: Timestamp::from_unix_micros(0),
        last_sync_at: None,
    };
    let mut work = Work::for_platform(database).await.expect("the database answers");
    merchants::register(&mut work, &store).await.expect("the store can be registered");
    work.commit().await.expect("the store is kept");
}
