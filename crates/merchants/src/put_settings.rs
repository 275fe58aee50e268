//! Reading and replacing the settings of a store.

use database::{DatabaseError, Reading, Work};
use identity::{Actor, AuditAction, Role};
use jobs::{NewEvent, QueueError};
use primitives::{Details, ErrorCode, MerchantId, Problem};
use serde_json::json;

use crate::{
    CheckoutUrl, CurrentSettings, InvalidSetting, NoticeKind, Promotion, Settings, Store,
    StoreError, post_notice, table,
};

/// The field of the page where buyers pay.
const PAYMENT_PAGE: &str = "checkout_url_template";

/// Returns the settings of a store; the defaults if none were ever stored.
pub async fn settings(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<CurrentSettings, SettingsError> {
    reading.run(async |sql| Ok(table::settings(sql, merchant).await?)).await
}

/// Returns the settings of a store as a transaction sees them.
pub async fn settings_now(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<Settings, SettingsError> {
    Ok(table::settings(work.sql(), merchant).await?.settings)
}

/// Locks the settings of a store until the transaction ends, and returns them. A change that is merged into them undoes no
/// concurrent one.
pub async fn lock_settings(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<CurrentSettings, SettingsError> {
    if !table::lock_store(work, merchant).await? {
        return Err(StoreError::NotFound.into());
    }
    Ok(table::settings(work.sql(), merchant).await?)
}

/// Returns a store and its settings as a transaction sees them.
pub async fn store_and_settings_now(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<(Store, Settings), SettingsError> {
    let store = crate::store_now(work, merchant).await?;
    let policies = store.policies.clone();
    let current = table::settings_with(work.sql(), merchant, policies).await?;
    Ok((store, current.settings))
}

/// Returns the promotions of a store that are active now.
pub async fn active_promotions(
    reading: &Reading,
    merchant: MerchantId,
) -> Result<Vec<Promotion>, SettingsError> {
    reading
        .run(async |sql| {
            let now = sql.now().await?;
            let promotions = table::settings(sql, merchant).await?.settings.promotions;
            Ok(promotions.into_iter().filter(|promotion| promotion.is_active(now)).collect())
        })
        .await
}

/// Who changes the settings of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Editor {
    pub actor: Actor,
    /// The role of a person in the store; `None` for a program and for an operator.
    pub role: Option<Role>,
}

impl Editor {
    /// Whether the editor decides where buyers pay (docs/contract/authentication.md#payment-destination).
    fn decides_payment(&self) -> bool {
        self.actor == Actor::Operator || self.role == Some(Role::Owner)
    }
}

/// New settings of a store, and who sets them.
#[derive(Debug, Clone, Copy)]
pub struct SettingsChange<'settings> {
    pub settings: &'settings Settings,
    /// The version that is replaced; `None`: any.
    pub expected_version: Option<i64>,
    pub editor: Editor,
    /// Whether the payment page may be on the machine of the person who pays, without TLS.
    pub is_development: bool,
    /// Fields of the API that other crates store and that this transaction changes too. Any of them is a new version.
    pub other_fields: &'settings [&'static str],
}

impl<'settings> SettingsChange<'settings> {
    /// Creates a change by an operator, who may name any host.
    #[must_use]
    pub const fn by_operator(settings: &'settings Settings) -> Self {
        let editor = Editor { actor: Actor::Operator, role: None };
        let (is_development, other_fields) = (true, &[]);
        Self { settings, expected_version: None, editor, is_development, other_fields }
    }
}

/// Replaces the settings of a store and returns their version. If nothing differs, nothing is written and no event is
/// published. Fails with `VersionConflict` unless the current version is the expected one. Countries and tax rates
/// that were stored before are accepted as they are. A change of the page where
/// buyers pay needs an owner or an operator, and an allowed host.
pub async fn put_settings(
    work: &mut Work,
    merchant: MerchantId,
    change: &SettingsChange<'_>,
) -> Result<i64, SettingsError> {
    let (settings, editor) = (change.settings, change.editor);
    let current = lock_settings(work, merchant).await?;
    current.check_version(change.expected_version)?;
    if current.settings == *settings && change.other_fields.is_empty() {
        return Ok(current.version);
    }
    settings.check_change(&current.settings)?;
    let pays_elsewhere = current.settings.checkout_url != settings.checkout_url;
    if pays_elsewhere {
        check_payment_page(work, merchant, change).await?;
    }
    let version = current.version + 1;
    table::put_policies(work, merchant, &settings.policies).await?;
    table::put_settings(work, merchant, settings, version).await?;
    if pays_elsewhere {
        record_payment_page(work, merchant, editor.actor, &current.settings, settings).await?;
    }
    let mut fields = settings.changed_fields(&current.settings);
    fields.extend(change.other_fields);
    if !fields.is_empty() {
        let details = json!({ "actor": editor.actor.to_string(), "fields": fields });
        post_notice(work, merchant, NoticeKind::SettingsChanged, details).await?;
    }
    publish_version(work, merchant, version).await?;
    Ok(version)
}

/// Raises the version of the settings because of a field of the API that another crate stores and changes outside of
/// [`put_settings`]. Locks the settings, as every change of them does first.
pub async fn touch_settings(
    work: &mut Work,
    merchant: MerchantId,
    actor: Actor,
    field: &'static str,
) -> Result<(), StoreError> {
    if !table::lock_store(work, merchant).await? {
        return Err(StoreError::NotFound);
    }
    let current = table::settings(work.sql(), merchant).await?;
    let version = current.version + 1;
    table::put_settings(work, merchant, &current.settings, version).await?;
    let details = json!({ "actor": actor.to_string(), "fields": [field] });
    post_notice(work, merchant, NoticeKind::SettingsChanged, details).await?;
    Ok(publish_version(work, merchant, version).await?)
}

/// Removes the payment page of a store if it is on this host, in the platform transaction that disallows the host. The
/// row of the store is locked.
pub(crate) async fn remove_payment_page(
    work: &mut Work,
    merchant: MerchantId,
    actor: Actor,
    host: &str,
) -> Result<(), SettingsError> {
    let current = table::settings(work.sql(), merchant).await?;
    let page = current.settings.checkout_url.as_ref();
    if page.and_then(CheckoutUrl::host).as_deref() != Some(host) {
        return Ok(());
    }
    let (settings, version) =
        (Settings { checkout_url: None, ..current.settings.clone() }, current.version + 1);
    table::put_settings(work, merchant, &settings, version).await?;
    record_payment_page(work, merchant, actor, &current.settings, &settings).await?;
    publish_version(work, merchant, version).await?;
    Ok(())
}

async fn publish_version(
    work: &mut Work,
    merchant: MerchantId,
    version: i64,
) -> Result<(), QueueError> {
    let event = NewEvent {
        merchant,
        topic: "store.changed",
        subject: merchant.uuid(),
        payload: json!({ "settings_version": version }),
    };
    jobs::publish(work, &[event]).await
}

/// Checks who changes the payment page, and where it is.
async fn check_payment_page(
    work: &mut Work,
    merchant: MerchantId,
    change: &SettingsChange<'_>,
) -> Result<(), SettingsError> {
    if !change.editor.decides_payment() {
        return Err(SettingsError::OwnerRequired { field: PAYMENT_PAGE });
    }
    let Some(url) = &change.settings.checkout_url else { return Ok(()) };
    if url.is_loopback() && change.is_development {
        return Ok(());
    }
    if !url.is_secure() {
        return Err(InvalidSetting::new(PAYMENT_PAGE, CheckoutUrl::ALLOWED).into());
    }
    let hosts = table::hosts(work.sql(), merchant).await?;
    let is_allowed = url.host().is_some_and(|host| hosts.contains(&host));
    if is_allowed || change.editor.actor == Actor::Operator {
        return Ok(());
    }
    Err(SettingsError::HostNotAllowed { hosts })
}

/// Writes the payment page and its audit entry, which the role of stores may not, and the notice.
async fn record_payment_page(
    work: &mut Work,
    merchant: MerchantId,
    actor: Actor,
    former: &Settings,
    settings: &Settings,
) -> Result<(), SettingsError> {
    let url = settings.checkout_url.as_ref();
    let text = |settings: &Settings| settings.checkout_url.as_ref().map(ToString::to_string);
    let details = json!({ "former": text(former), "checkout_url_template": text(settings) });
    work.as_platform(async |work| {
        table::put_checkout_url(work, merchant, url).await?;
        let action = AuditAction::CheckoutUrlSet;
        identity::record_audit(work, actor, action, &merchant, details).await?;
        Ok::<_, SettingsError>(())
    })
    .await?;
    let details = json!({ "actor": actor.to_string() });
    Ok(post_notice(work, merchant, NoticeKind::PaymentPageChanged, details).await?)
}

impl CurrentSettings {
    /// Returns `VersionConflict` unless these settings have the expected version; `None` expects any.
    pub fn check_version(&self, expected: Option<i64>) -> Result<(), SettingsError> {
        match expected {
            Some(expected) if expected != self.version => {
                Err(SettingsError::VersionConflict { version: self.version })
            }
            _ => Ok(()),
        }
    }
}

impl Settings {
    /// Returns the fields of the API that differ, except the payment page.
    fn changed_fields(&self, former: &Self) -> Vec<&'static str> {
        // Without `..`, so that a new setting is not forgotten here.
        let Self {
            policies,
            confirmation,
            checkout_url: _,
            destination_required,
            hold_limits,
            gtin_source,
            shipping,
            taxes,
            promotions,
        } = self;
        let fields = [
            ("policies", *policies != former.policies),
            ("confirmation_policy", *confirmation != former.confirmation),
            ("destination_required", *destination_required != former.destination_required),
            ("hold_limits", *hold_limits != former.hold_limits),
            ("gtin_source", *gtin_source != former.gtin_source),
            ("shipping", *shipping != former.shipping),
            ("taxes", *taxes != former.taxes),
            ("promotions", *promotions != former.promotions),
        ];
        fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }
}

/// An error of settings.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Invalid(#[from] InvalidSetting),
    #[error("the settings have changed; their version is now {version}")]
    VersionConflict {
        /// The current version.
        version: i64,
    },
    #[error("only an owner of the store may change {field}")]
    OwnerRequired {
        /// The setting.
        field: &'static str,
    },
    #[error("the host of the payment page is not allowed for this store")]
    HostNotAllowed {
        /// The hosts that are.
        hosts: Vec<String>,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Queue(#[from] QueueError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl From<sqlx::Error> for SettingsError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.into())
    }
}

impl Problem for SettingsError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) | Self::HostNotAllowed { .. } => ErrorCode::InvalidRequest,
            Self::OwnerRequired { .. } => ErrorCode::Forbidden,
            // The only error code with status 409 that fits a version conflict.
            Self::VersionConflict { .. } => ErrorCode::InvalidStatusTransition,
            Self::Store(error) => error.code(),
            Self::Queue(error) => error.code(),
            Self::Database(error) => error.code(),
        }
    }

    fn details(&self, details: &mut Details) {
        match self {
            Self::Invalid(error) => error.details(details),
            Self::VersionConflict { version } => {
                details.insert("field", "version");
                details.insert("current_version", *version);
                details
                    .insert("hint", "read the settings again, apply the change to them and resend");
            }
            Self::OwnerRequired { field } => {
                details.insert("field", *field);
                details.insert("reason", "owner_required");
                let hint = "an owner of the store sends it with the token of POST /api/v1/auth/login; to change other settings, send this one unchanged";
                details.insert("hint", hint);
            }
            Self::HostNotAllowed { hosts } => {
                details.insert("field", PAYMENT_PAGE);
                details.insert("reason", "host_not_allowed");
                details.insert("allowed", hosts.clone());
                details.insert("hint", "ask an operator to allow the host for this store");
            }
            Self::Store(error) => error.details(details),
            Self::Queue(error) => error.details(details),
            Self::Database(error) => error.details(details),
        }
    }

    fn is_transient(&self) -> bool {
        match self {
            Self::Invalid(_)
            | Self::VersionConflict { .. }
            | Self::OwnerRequired { .. }
            | Self::HostNotAllowed { .. } => false,
            Self::Store(error) => error.is_transient(),
            Self::Queue(error) => error.is_transient(),
            Self::Database(error) => error.is_transient(),
        }
    }
}
