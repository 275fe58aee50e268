//! A link that opens some items for a person.

use std::fmt::Write as _;

use database::Reading;
use merchants::{Settings, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{CartError, Quote};

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permalink {
    /// The address.
    pub url: String,
    /// What opens there.
    pub opens: Opens,
}

/// What a link opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Opens {
    /// The items in the merchant's own shop.
    MerchantPage,
    /// A summary of this service, as JSON: the store has no such links.
    Summary,
}

/// The items, by their SKU, in the merchant's own shop; none if the store has no such links.
pub fn shop_link<'items>(
    settings: &Settings,
    items: impl Iterator<Item = (&'items str, u32)>,
) -> Option<String> {
    // A template that has no place for items opens the same page whatever is in the basket.
    let template = settings.checkout_url.as_ref().filter(|template| template.takes_items())?;
    Some(template.fill(&items.collect::<Vec<_>>(), ""))
}

/// The link to what was quoted: the store's own if it has a template for it, else a summary of ours.
pub async fn permalink(
    reading: &Reading,
    store: &Store,
    quote: &Quote,
    site_url: &str,
) -> Result<Permalink, CartError> {
    let current = merchants::settings(reading, store.merchant).await?;
    let items = quote.lines.iter().map(|line| (line.sku.as_str(), line.quantity));
    if let Some(url) = shop_link(&current.settings, items) {
        return Ok(Permalink { url, opens: Opens::MerchantPage });
    }
    let mut url = format!("{site_url}/api/v1/stores/{}/basket?items=", store.slug);
    for (place, line) in quote.lines.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(url, "{comma}{}", line.product);
        if let Some(variant) = line.variant {
            let _ = write!(url, ".{variant}");
        }
        let _ = write!(url, ":{}", line.quantity);
    }
    Ok(Permalink { url, opens: Opens::Summary })
}
