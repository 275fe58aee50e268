//! A read: the provider's page on which a person can continue the payment that is in progress.

use database::Reading;
use payments::{PaymentStatus, ProviderName};
use primitives::CheckoutId;

use crate::{CheckoutContext, CheckoutError};

/// The page of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPage {
    pub provider: ProviderName,
    pub url: String,
}

/// Returns the page of the payment of a session that is in progress, if the person can still pay there.
pub async fn open_page(
    context: &CheckoutContext<'_>,
    id: CheckoutId,
) -> Result<Option<OpenPage>, CheckoutError> {
    let merchant = context.merchant();
    let reading = Reading::for_store(context.database, merchant)?;
    let Some((payment, now)) = payments::find_pending(&reading, merchant, id).await? else {
        return Ok(None);
    };
    let is_open = payment.status == PaymentStatus::Open && now < payment.expires_at;
    let provider = payment.provider;
    Ok(payment.page_url.filter(|_| is_open).map(|url| OpenPage { provider, url }))
}
