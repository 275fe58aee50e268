//! What owners do with their store: its profile, and whether it is open. Each action is a notice, and an entry of the audit
//! log if it concerns the status, the name, the website or the support.

use database::Work;
use identity::{Actor, AuditAction};
use primitives::{MerchantId, UserId};
use serde_json::json;

use crate::administer::decide_status;
use crate::register::publish_if_changed;
use crate::settings::check::{Checked, URL_LENGTH_MAX, ensure, text, web_url};
use crate::store_status::Decider;
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

    /// Returns the first error of a field that differs from the former profile, if any.
    fn check_change(&self, former: &Self) -> Checked {
        let stated = |value: &str, former: &str, check: &dyn Fn(&str) -> Checked| {
            if value.is_empty() || value == former { Ok(()) } else { check(value) }
        };
        let description = |it: &str| text("description", it, DESCRIPTION_CHARACTERS_MAX);
        text("name", &self.name, NAME_CHARACTERS_MAX)?;
        stated(&self.description, &former.description, &description)?;
        stated(&self.website_url, &former.website_url, &|it| web_url("website_url", it))?;
        stated(&self.logo_url, &former.logo_url, &|it| web_url("logo_url", it))?;
        stated(&self.support_url, &former.support_url, &|it| web_url("support_url", it))?;
        stated(&self.support_email, &former.support_email, &|it| {
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

/// Locks the profile of a store until the transaction ends, and returns it. A change that is merged into it undoes no
/// concurrent one.
pub async fn lock_profile(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<StoreProfile, StoreError> {
    work.as_platform(async |work| {
        if !table::lock_store(work, merchant).await? {
            return Err(StoreError::NotFound);
        }
        Ok(StoreProfile::of(&store_now(work, merchant).await?))
    })
    .await
}

/// Sets the profile of a store. Returns whether it differed.
pub async fn put_profile(
    work: &mut Work,
    merchant: MerchantId,
    owner: UserId,
    profile: &StoreProfile,
) -> Result<bool, SettingsError> {
    let former = lock_profile(work, merchant).await?;
    profile.check_change(&former)?;
    work.as_platform(async |work| {
        let fields = profile.changed_fields(&former);
        if fields.is_empty() {
            return Ok(false);
        }
        table::put_profile(work, merchant, profile).await?;
        publish_if_changed(work, merchant, true).await?;
        let details = json!({ "actor": Actor::Person(owner).to_string(), "fields": fields });
        post_notice(work, merchant, NoticeKind::SettingsChanged, details).await?;
        record_profile(work, merchant, owner, &former, profile).await?;
        Ok(true)
    })
    .await
}

/// Records in the audit log what tells people who the store is, if it changed: name, website and support.
async fn record_profile(
    work: &mut Work,
    merchant: MerchantId,
    owner: UserId,
    former: &StoreProfile,
    profile: &StoreProfile,
) -> Result<(), StoreError> {
    let fields = |it: &StoreProfile| {
        [
            ("name", it.name.clone()),
            ("website_url", it.website_url.clone()),
            ("support_email", it.support_email.clone()),
            ("support_url", it.support_url.clone()),
        ]
    };
    let pairs = fields(former).into_iter().zip(fields(profile));
    let changed: Vec<&str> =
        pairs.filter(|(from, to)| from != to).map(|((field, _), _)| field).collect();
    if changed.is_empty() {
        return Ok(());
    }
    let (actor, action) = (Actor::Person(owner), AuditAction::StoreProfileSet);
    // The log is never deleted, so it names no address.
    let details = json!({ "changed": changed, "former_name": former.name, "name": profile.name });
    Ok(identity::record_audit(work, actor, action, &merchant, details).await?)
}

/// Pauses, closes or reopens a store as its owner. Returns whether the status differed, or `StatusOfOperator` if an operator
/// set the present one.
pub async fn set_own_status(
    work: &mut Work,
    merchant: MerchantId,
    owner: UserId,
    status: StoreStatus,
) -> Result<bool, StoreError> {
    let by = (Decider::Owner, Actor::Person(owner));
    work.as_platform(async |work| decide_status(work, by, REASON, merchant, status).await).await
}
