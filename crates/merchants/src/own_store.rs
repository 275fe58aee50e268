//! What owners do with their store: its profile, and whether it is open. Each action is a notice, and an entry of the audit
//! log if it concerns the status.

use database::Work;
use identity::Actor;
use primitives::{MerchantId, UserId};
use serde_json::json;

use crate::administer::record_status;
use crate::register::publish_if_changed;
use crate::settings::check::{Checked, URL_LENGTH_MAX, ensure, text, web_url};
use crate::{
    NoticeKind, SettingsError, Store, StoreError, StoreStatus, post_notice, store_now, table,
};

/// The reason in the audit log.
const REASON: &str = "decided by an owner of the store";
const NAME_CHARACTERS_MAX: usize = 200;
const DESCRIPTION_CHARACTERS_MAX: usize = 2_000;

/// What an owner states about a store. Empty texts are not stated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreProfile {
    /// Required.
    pub name: String,
    /// Merchant text.
    pub description: String,
    pub website_url: String,
    pub logo_url: String,
    pub support_email: String,
    pub support_url: String,
}

impl StoreProfile {
    /// Most characters of a name.
    pub const NAME_CHARACTERS_MAX: usize = NAME_CHARACTERS_MAX;
    /// Most characters of a description.
    pub const DESCRIPTION_CHARACTERS_MAX: usize = DESCRIPTION_CHARACTERS_MAX;
    /// Most bytes of an address.
    pub const URL_LENGTH_MAX: usize = URL_LENGTH_MAX;

    /// Returns the profile of a store.
    #[must_use]
    pub fn of(store: &Store) -> Self {
        Self {
            name: store.name.clone(),
            description: store.description.clone(),
            website_url: store.website_url.clone(),
            logo_url: store.logo_url.clone(),
            support_email: store.support_email.clone(),
            support_url: store.support_url.clone(),
        }
    }

    fn check(&self) -> Checked {
        let stated = |value: &str, check: &dyn Fn(&str) -> Checked| {
            if value.is_empty() { Ok(()) } else { check(value) }
        };
        text("name", &self.name, NAME_CHARACTERS_MAX)?;
        stated(&self.description, &|it| text("description", it, DESCRIPTION_CHARACTERS_MAX))?;
        stated(&self.website_url, &|it| web_url("website_url", it))?;
        stated(&self.logo_url, &|it| web_url("logo_url", it))?;
        stated(&self.support_url, &|it| web_url("support_url", it))?;
        stated(&self.support_email, &|it| {
            ensure(it.parse::<identity::Email>().is_ok(), "support_email", "an email address")
        })
    }

    fn changed_fields(&self, former: &Self) -> Vec<&'static str> {
        // Without `..`, so that a new field is not forgotten here.
        let Self { name, description, website_url, logo_url, support_email, support_url } = self;
        let fields = [
            ("name", *name != former.name),
            ("description", *description != former.description),
            ("website_url", *website_url != former.website_url),
            ("logo_url", *logo_url != former.logo_url),
            ("support_email", *support_email != former.support_email),
            ("support_url", *support_url != former.support_url),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

/// Sets the profile of a store. Returns whether it differed.
pub async fn put_profile(
    work: &mut Work,
    merchant: MerchantId,
    owner: UserId,
    profile: &StoreProfile,
) -> Result<bool, SettingsError> {
    profile.check()?;
    work.as_platform(async |work| {
        if !table::lock_store(work, merchant).await? {
            return Err(StoreError::NotFound.into());
        }
        let former = StoreProfile::of(&store_now(work, merchant).await?);
        let fields = profile.changed_fields(&former);
        if fields.is_empty() {
            return Ok(false);
        }
        table::put_profile(work, merchant, profile).await?;
        publish_if_changed(work, merchant, true).await?;
        let details = json!({ "actor": Actor::Person(owner).to_string(), "fields": fields });
        post_notice(work, merchant, NoticeKind::SettingsChanged, details).await?;
        Ok(true)
    })
    .await
}

/// Pauses, closes or reopens a store as its owner. Returns whether the status differed, or `StatusOfOperator` if an operator
/// set the present one.
pub async fn set_own_status(
    work: &mut Work,
    merchant: MerchantId,
    owner: UserId,
    status: StoreStatus,
) -> Result<bool, StoreError> {
    work.as_platform(async |work| {
        if !table::lock_store(work, merchant).await? {
            return Err(StoreError::NotFound);
        }
        let store = store_now(work, merchant).await?;
        if store.status == status && (status == StoreStatus::Open || store.status_by_owner) {
            return Ok(false);
        }
        if store.status != StoreStatus::Open && !store.status_by_owner {
            return Err(StoreError::StatusOfOperator);
        }
        let by_owner = status != StoreStatus::Open;
        table::set_status(work, merchant, status, by_owner).await?;
        record_status(work, Actor::Person(owner), REASON, merchant, (store.status, status)).await?;
        Ok(true)
    })
    .await
}
