//! `webhook_url` of the settings, which is a webhook endpoint (docs/contract/webhooks.md#registration).

use database::{Reading, Work};
use identity::StoreScope;
use merchants::SettingsError;
use webhooks::{EndpointError, EndpointUrl, SigningSecret, WEBHOOK_URL};

use crate::{ErrorResponse, Rest, StoreCaller};

/// What a request does with the endpoint of the settings.
pub(super) enum UrlChange {
    Keep,
    Remove,
    Set(EndpointUrl),
}

impl UrlChange {
    /// Returns what leads to this URL, or to no endpoint without one. Everything but [`Keep`](Self::Keep) needs the scope of
    /// webhooks. Resolves the host of a new URL, which takes up to some seconds: never called while a `Work` is open.
    pub(super) async fn to(
        rest: &Rest,
        caller: &StoreCaller,
        expected_version: Option<i64>,
        url: Option<&str>,
    ) -> Result<Self, ErrorResponse> {
        let url = url.map(str::trim);
        if rest.webhooks.is_settings_url(caller.merchant, url).await? {
            return Ok(Self::Keep);
        }
        // Whoever sends back outdated settings does not mean to change the URL.
        let reading = Reading::for_store(&rest.database, caller.merchant)?;
        let version = merchants::settings(&reading, caller.merchant).await?.version;
        if expected_version.is_some_and(|expected| expected != version) {
            return Err(SettingsError::VersionConflict { version }.into());
        }
        caller.require(StoreScope::Webhooks)?;
        Ok(match url {
            None => Self::Remove,
            Some(url) => Self::Set(rest.webhooks.check_url(WEBHOOK_URL, url).await?),
        })
    }

    /// Returns the settings that change.
    pub(super) const fn fields(&self) -> &'static [&'static str] {
        match self {
            Self::Keep => &[],
            Self::Remove | Self::Set(_) => &[WEBHOOK_URL],
        }
    }

    /// Changes the endpoint in the transaction that stores the settings. Returns the secret of an endpoint that it creates.
    pub(super) async fn apply(
        &self,
        work: &mut Work,
        rest: &Rest,
        caller: &StoreCaller,
    ) -> Result<Option<SigningSecret>, EndpointError> {
        let url = match self {
            Self::Keep => return Ok(None),
            Self::Remove => None,
            Self::Set(url) => Some(url),
        };
        let (merchant, actor) = (caller.merchant, caller.editor.actor);
        rest.webhooks.set_from_settings(work, merchant, actor, url).await
    }
}
