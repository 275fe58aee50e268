//! `webhook_url` of the settings, which is a webhook endpoint (docs/contract/webhooks.md#registration).

use database::Reading;
use identity::StoreScope;
use webhooks::UrlChange;

use crate::{ErrorResponse, Rest, StoreCaller};

/// Returns the change that leads to this URL, or to no endpoint without one; `None` if nothing changes. A change needs the scope
/// of webhooks. It resolves the host of a new URL, which takes up to some seconds: never called while a `Work` is open.
pub(super) async fn url_change(
    rest: &Rest,
    caller: &StoreCaller,
    expected_version: Option<i64>,
    url: Option<&str>,
) -> Result<Option<UrlChange>, ErrorResponse> {
    let Some(plan) = rest.webhooks.plan_settings_url(caller.merchant, url).await? else {
        return Ok(None);
    };
    // Whoever sends back outdated settings does not mean to change the URL: that is said first.
    let reading = Reading::for_store(&rest.database, caller.merchant)?;
    merchants::settings(&reading, caller.merchant).await?.check_version(expected_version)?;
    caller.require(StoreScope::Webhooks)?;
    Ok(Some(rest.webhooks.check_settings_url(plan).await?))
}
