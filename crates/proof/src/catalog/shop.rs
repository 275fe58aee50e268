//! A store to bring products into.

use database::{Database, Work};
use merchants::NewStore;
use primitives::{Currency, Id, MerchantId, Timestamp};

use crate::report::Failure;

/// Whose store it is.
pub(crate) fn merchant() -> MerchantId {
    MerchantId::from_random(1)
}

/// Opens the store, priced in euros.
pub(crate) async fn open_store(database: &Database) -> Result<(), Failure> {
    let store = NewStore {
        merchant: merchant(),
        slug: "attic".parse()?,
        name: String::from("Attic"),
        legal_name: String::from("Attic Ltd"),
        description: String::from("Old things."),
        website_url: String::from("https://attic.example"),
        platform: String::from("api"),
        active: true,
        country: String::from("IE"),
        currency: Currency::EUR,
        languages: vec![String::from("en")],
        ships_to: vec![String::from("IE")],
        support_email: String::from("help@attic.example"),
        member_since: Timestamp::from_unix_micros(0),
        last_sync_at: None,
    };
    let mut work = Work::for_platform(database).await?;
    merchants::register(&mut work, &store).await?;
    work.commit().await?;
    Ok(())
}
