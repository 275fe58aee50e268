//! Links that open items for a person.

use std::fmt::Write as _;

use database::Reading;
use merchants::{Settings, Store};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{CartError, Quote};

/// A link to items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Permalink {
    pub url: String,
    pub target: PermalinkTarget,
}

/// What a permalink opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PermalinkTarget {
    /// The items in the merchant's own shop.
    MerchantPage,
    /// A JSON summary served by Souk: the store has no links to its own shop.
    Summary,
}

/// Returns a link to items in the merchant's own shop, by SKU; `None` if the store has no such links.
pub fn storefront_link<'items>(
    settings: &Settings,
    items: impl Iterator<Item = (&'items str, u32)>,
) -> Option<String> {
    // Without a placeholder for items the template opens the same page for every cart.
    let template =
        settings.checkout_url.as_ref().filter(|template| template.has_items_placeholder())?;
    Some(template.fill(&items.collect::<Vec<_>>(), ""))
}

/// Returns a link to the quoted items: in the merchant's own shop if the store has a template for it, otherwise to a
/// summary served by Souk.
pub async fn permalink(
    reading: &Reading,
    store: &Store,
    quote: &Quote,
    site_url: &str,
) -> Result<Permalink, CartError> {
    let current = merchants::settings(reading, store.merchant).await?;
    let items = quote.lines.iter().map(|line| (line.sku.as_str(), line.quantity));
    if let Some(url) = storefront_link(&current.settings, items) {
        return Ok(Permalink { url, target: PermalinkTarget::MerchantPage });
    }
    let mut url = format!("{site_url}/api/v1/stores/{}/basket?items=", store.slug);
    for (index, line) in quote.lines.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(url, "{comma}{}", line.product);
        if let Some(variant) = line.variant {
            let _ = write!(url, ".{variant}");
        }
        let _ = write!(url, ":{}", line.quantity);
    }
    Ok(Permalink { url, target: PermalinkTarget::Summary })
}
