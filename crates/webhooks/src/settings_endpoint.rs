//! A verb: setting the endpoint of `webhook_url` in the settings of a store (docs/contract/webhooks.md#registration).

use database::Work;
use identity::Actor;
use primitives::MerchantId;

use crate::endpoints::{remove, write_change};
use crate::table::endpoint::{Selection, select};
use crate::{Endpoint, EndpointError, EndpointStatus, EndpointUrl, SigningSecret, Webhooks, table};

impl Webhooks {
    /// Creates, moves or deletes the endpoint of the settings, in the transaction that stores them. Returns the secret of an
    /// endpoint that it creates. One that is moved keeps its secret and is enabled; the same URL changes nothing.
    pub async fn set_from_settings(
        &self,
        work: &mut Work,
        merchant: MerchantId,
        actor: Actor,
        url: Option<&EndpointUrl>,
    ) -> Result<Option<SigningSecret>, EndpointError> {
        match (of_settings(work, merchant).await?, url) {
            (None, None) => Ok(None),
            (None, Some(url)) => {
                let endpoint = Endpoint { from_settings: true, ..Endpoint::fresh(work, url) };
                Ok(Some(self.insert(work, merchant, actor, &endpoint).await?))
            }
            (Some(endpoint), None) => {
                remove(work, merchant, actor, &endpoint).await?;
                Ok(None)
            }
            (Some(former), Some(url)) => {
                if former.url != url.as_str() {
                    let mut endpoint = Endpoint { url: url.as_str().to_owned(), ..former.clone() };
                    endpoint.set_status(EndpointStatus::Enabled, work);
                    write_change(work, merchant, actor, &former, &mut endpoint).await?;
                }
                Ok(None)
            }
        }
    }

    /// Returns the URL of the endpoint of the settings; `None` without one.
    pub async fn settings_url(
        &self,
        merchant: MerchantId,
    ) -> Result<Option<String>, EndpointError> {
        let endpoints = self.list(merchant).await?;
        let found = endpoints.into_iter().find(|endpoint| endpoint.from_settings);
        Ok(found.map(|endpoint| endpoint.url))
    }
}

/// Returns the URL of the endpoint of the settings, as a transaction sees it; `None` without one. It is `webhook_url` of the
/// settings.
pub async fn settings_url_now(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<Option<String>, EndpointError> {
    let mut found = select(work.sql(), merchant, Selection::OfSettings).await?;
    Ok(found.pop().map(|endpoint| endpoint.url))
}

/// Locks the endpoint of the settings, and returns it.
async fn of_settings(
    work: &mut Work,
    merchant: MerchantId,
) -> Result<Option<Endpoint>, EndpointError> {
    let mut found = select(work.sql(), merchant, Selection::OfSettings).await?;
    match found.pop() {
        None => Ok(None),
        Some(found) => Ok(table::endpoint::lock(work, merchant, found.id).await?),
    }
}
