//! `webhook_url` of the settings, which is a webhook endpoint (docs/contract/webhooks.md#registration).

use database::Work;
use webhooks::{EndpointError, EndpointUrl, SigningSecret};

use crate::{Rest, StoreCaller};

/// The field of the API.
pub(super) const WEBHOOK_URL: &str = "webhook_url";

/// What a request does with the endpoint of the settings.
pub(super) enum UrlChange {
    Keep,
    Remove,
    Set(EndpointUrl),
}

impl UrlChange {
    /// Returns what leads to this URL, or to no endpoint without one. Resolves the host of a new URL, which takes up to some seconds:
    /// never called while a `Work` is open. A URL that is stored already is not checked again.
    pub(super) async fn to(
        rest: &Rest,
        caller: &StoreCaller,
        url: Option<&str>,
    ) -> Result<Self, EndpointError> {
        let current = rest.webhooks.settings_url(caller.merchant).await?;
        let url = url.map(str::trim).filter(|url| !url.is_empty());
        match (current, url) {
            (None, None) => Ok(Self::Keep),
            (Some(_), None) => Ok(Self::Remove),
            (Some(current), Some(url)) if current == url => Ok(Self::Keep),
            (current, Some(url)) => {
                let url = rest.webhooks.check_url(WEBHOOK_URL, url).await?;
                // The canonical form of what was sent.
                let is_current = current.is_some_and(|current| current == url.as_str());
                Ok(if is_current { Self::Keep } else { Self::Set(url) })
            }
        }
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
