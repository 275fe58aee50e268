//! A verb: setting the endpoint of `webhook_url` in the settings of a store (docs/contract/webhooks.md#registration).

use database::{Reading, Work};
use identity::Actor;
use primitives::MerchantId;

use crate::endpoints::{remove, write_change};
use crate::table::endpoint::{Selection, select};
use crate::{Endpoint, EndpointError, EndpointStatus, EndpointUrl, SigningSecret, Webhooks, table};

/// The field of the settings.
pub const WEBHOOK_URL: &str = "webhook_url";

/// A change of `webhook_url` that is not vetted yet. Has no `Debug`, so that it cannot be logged: the path of a URL may contain a
/// credential.
pub struct UrlPlan {
    /// Without surrounding white space; `None`: the endpoint is deleted.
    url: Option<String>,
}

/// A change of `webhook_url` that can be applied.
#[derive(Debug)]
pub struct UrlChange {
    /// `None`: the endpoint is deleted.
    url: Option<EndpointUrl>,
}

impl Webhooks {
    /// Plans the change that leads to this URL, or to no endpoint without one. Returns `None` if nothing changes: if the endpoint
    /// of the settings has this URL, however it is spelled.
    pub async fn plan_settings_url(
        &self,
        merchant: MerchantId,
        url: Option<&str>,
    ) -> Result<Option<UrlPlan>, EndpointError> {
        let url = url.map(str::trim);
        let current = self.settings_url(merchant).await?;
        let is_same = self.is_same(current.as_deref(), url);
        Ok((!is_same).then(|| UrlPlan { url: url.map(str::to_owned) }))
    }

    /// Returns whether nothing changes still, in a transaction that has locked the settings: from then on no other one changes
    /// the URL.
    pub async fn is_settings_url(
        &self,
        work: &mut Work,
        merchant: MerchantId,
        url: Option<&str>,
    ) -> Result<bool, EndpointError> {
        let current = select(work.sql(), merchant, Selection::OfSettings).await?.pop();
        let current = current.map(|endpoint| endpoint.url);
        Ok(self.is_same(current.as_deref(), url.map(str::trim)))
    }

    fn is_same(&self, current: Option<&str>, url: Option<&str>) -> bool {
        match (current, url) {
            (None, None) => true,
            (Some(current), Some(url)) => self.is_same_url(current, url),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    /// Vets the URL of a plan, of a caller who may change it: resolves its host, which takes up to some seconds. Never called
    /// while a `Work` is open.
    pub async fn check_settings_url(&self, plan: UrlPlan) -> Result<UrlChange, EndpointError> {
        let url = match plan.url {
            Some(url) => Some(self.check_url(WEBHOOK_URL, &url).await?),
            None => None,
        };
        Ok(UrlChange { url })
    }

    /// Creates, moves or deletes the endpoint of the settings, in the transaction that stores them. Returns the secret of an
    /// endpoint that it creates. One that is moved keeps its secret and is enabled; the same URL changes nothing.
    pub async fn apply_settings_url(
        &self,
        work: &mut Work,
        merchant: MerchantId,
        actor: Actor,
        change: &UrlChange,
    ) -> Result<Option<SigningSecret>, EndpointError> {
        match (of_settings(work, merchant).await?, &change.url) {
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
        let reading = Reading::for_store(&self.database, merchant)?;
        let found: Result<_, EndpointError> =
            reading.run(async |sql| Ok(select(sql, merchant, Selection::OfSettings).await?)).await;
        Ok(found?.pop().map(|endpoint| endpoint.url))
    }
}

/// Raises the version of the settings, whose `webhook_url` is changed otherwise than by a change of them. Called before the
/// endpoint is locked: a change of the settings locks them first.
pub(crate) async fn touch_settings(
    work: &mut Work,
    merchant: MerchantId,
    actor: Actor,
) -> Result<(), EndpointError> {
    Ok(merchants::touch_settings(work, merchant, actor, WEBHOOK_URL).await?)
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
