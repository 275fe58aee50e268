//! From a presented key to its merchant, on every call.

use std::time::Duration;

use database::{Database, Reading};
use moka::future::Cache;
use primitives::MerchantId;

use crate::secret::Mac;
use crate::{IdentityError, Secret, key_text, table};

/// Keys that were presented in the last seconds. Kept by their MAC, so that a copy of the memory
/// holds no keys. One that is unknown is remembered too: repeating a wrong key costs no look-up.
#[derive(Clone)]
pub struct StoreKeys {
    database: Database,
    secret: Secret,
    merchants: Cache<Mac, Option<MerchantId>>,
}

impl StoreKeys {
    /// How old an answer may be. Revoking has to work within five seconds (decisions §5).
    pub const AGE_MAX: Duration = Duration::from_secs(2);
    /// How many are kept, known or not. Keys that are used often stay when many are tried.
    const KEYS_MAX: u64 = 50_000;

    /// An empty cache. A test gives a zero age to see its own writes.
    #[must_use]
    pub fn new(database: Database, secret: Secret, age_max: Duration) -> Self {
        let merchants = Cache::builder()
            .max_capacity(Self::KEYS_MAX)
            .time_to_live(age_max.min(Self::AGE_MAX))
            .build();
        Self { database, secret, merchants }
    }

    /// Whose key this is.
    pub async fn merchant_of(&self, presented: &str) -> Result<MerchantId, IdentityError> {
        if !key_text::is_store_key(presented) {
            return Err(IdentityError::Refused);
        }
        let mac = self.secret.mac(presented);
        let found = self.merchants.try_get_with_by_ref(&mac, load(&self.database, &mac)).await;
        match found {
            Ok(Some(merchant)) => Ok(merchant),
            Ok(None) => Err(IdentityError::Refused),
            Err(error) => Err(IdentityError::clone(&error)),
        }
    }
}

async fn load(database: &Database, mac: &Mac) -> Result<Option<MerchantId>, IdentityError> {
    let mut snapshot = Reading::for_platform(database).open().await?;
    let now = snapshot.now().await?;
    let merchant = table::merchant_of(&mut snapshot, mac, now).await?;
    snapshot.close().await?;
    Ok(merchant)
}
