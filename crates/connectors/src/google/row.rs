//! A row of fields, and the product data in it.

use std::collections::BTreeMap;

use catalog::{Amount, FeedSettings, FieldError, GtinSource, ImageDraft, ProductDraft};
use primitives::Currency;

use super::{OPTIONS, detail, sale_period};
use crate::amount;
use crate::field_errors;
use crate::gtin::GtinCandidates;

/// The non-empty fields of a row, in order.
#[derive(Debug, Default)]
pub(crate) struct GoogleRow {
    pub(crate) line: u64,
    /// Size of the source text.
    pub(crate) bytes: usize,
    /// Names are normalized by [`super::field_name`].
    pub(crate) fields: Vec<(String, String)>,
}

/// The data of a row, which becomes a product or a variant.
#[derive(Debug)]
pub(super) struct RowData {
    pub(super) id: String,
    pub(super) group: Option<String>,
    pub(super) options: BTreeMap<String, String>,
    /// Without identifier, options and variants.
    pub(super) draft: ProductDraft,
    /// What is left out of the product.
    pub(super) warning: Option<FieldError>,
}

#[derive(Default)]
struct Prices {
    price: Option<Amount>,
    list_price: Option<Amount>,
    currency: Option<Currency>,
    sale: Option<TimedSale>,
    warning: Option<FieldError>,
}

/// A sale price with its period, in RFC 3339.
struct TimedSale {
    price: Amount,
    starts_at: String,
    ends_at: String,
}

impl GoogleRow {
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(field, _)| field == name);
        field.map(|(_, value)| value.as_str())
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let fields = self.fields.iter().filter(move |(field, _)| field == name);
        fields.map(|(_, value)| value.as_str())
    }

    fn owned(&self, name: &str) -> Option<String> {
        self.first(name).map(str::to_owned)
    }

    /// Returns the identifier of the product: the group if there is one, else the row.
    pub(crate) fn external_id(&self) -> Option<String> {
        self.owned("item_group_id").or_else(|| self.owned("id"))
    }

    pub(super) fn data(&self, settings: &FeedSettings) -> Result<RowData, FieldError> {
        let id = self.owned("id").ok_or_else(field_errors::missing_id)?;
        let prices = self.prices(settings)?;
        let options =
            OPTIONS.iter().filter_map(|name| Some(((*name).to_owned(), self.owned(name)?)));
        let draft = ProductDraft {
            name: self.owned("title"),
            description: self.owned("description"),
            brand: self.owned("brand"),
            gtin: self.gtin(&settings.gtin_source),
            mpn: self.owned("mpn"),
            url: self.owned("link"),
            category: self.category(),
            condition: self.first("condition").map(str::to_lowercase),
            price: prices.price,
            currency: prices.currency.map(|currency| currency.code().to_owned()),
            list_price: prices.list_price,
            stock_status: self.first("availability").map(stock_status),
            stock_quantity: self.stock_quantity()?,
            images: self.images(),
            attributes: self.all("product_detail").flat_map(detail::parse).collect(),
            ..ProductDraft::default()
        };
        let mut draft = draft;
        if let Some(sale) = prices.sale {
            draft.sale_price = Some(sale.price);
            draft.sale_starts_at = Some(sale.starts_at);
            draft.sale_ends_at = Some(sale.ends_at);
        }
        let (group, warning) = (self.owned("item_group_id"), prices.warning);
        Ok(RowData { id, group, options: options.collect(), draft, warning })
    }

    /// Returns the prices. A sale price without a period is the price, and the price is the list price; with a
    /// period it is a sale, which the catalog begins and ends.
    fn prices(&self, settings: &FeedSettings) -> Result<Prices, FieldError> {
        let read = |name, field| {
            let text = self.first(name);
            text.map(|text| amount::read(text, settings.currency, field)).transpose()
        };
        let (price, sale) = (read("price", "price")?, read("sale_price", "price")?);
        if let (Some(regular), Some(sale), Some(period)) =
            (&price, &sale, self.first("sale_price_effective_date"))
        {
            if regular.currency != sale.currency {
                return Err(field_errors::mixed_currencies());
            }
            let period = sale_period::parse(period);
            let warning = period.is_none().then(field_errors::invalid_sale_period);
            let timed =
                |(starts_at, ends_at)| TimedSale { price: sale.amount.clone(), starts_at, ends_at };
            return Ok(Prices {
                price: Some(regular.amount.clone()),
                list_price: None,
                currency: regular.currency,
                sale: period.map(timed),
                warning,
            });
        }
        let (price, list_price) = match sale {
            Some(sale) => (Some(sale), price),
            None => (price, None),
        };
        let currency = price.as_ref().and_then(|price| price.currency);
        if list_price.as_ref().is_some_and(|price| price.currency != currency) {
            return Err(field_errors::mixed_currencies());
        }
        Ok(Prices {
            price: price.map(|price| price.amount),
            list_price: list_price.map(|price| price.amount),
            currency,
            sale: None,
            warning: None,
        })
    }

    fn gtin(&self, source: &GtinSource) -> Option<String> {
        let has_no_identifier = matches!(
            self.first("identifier_exists").map(str::to_lowercase).as_deref(),
            Some("no" | "false")
        );
        let candidates = GtinCandidates {
            gtin: self.first("gtin").filter(|_| !has_no_identifier),
            sku: self.first("id"),
            mpn: self.first("mpn"),
            id: self.first("id"),
        };
        candidates.find(source, self.named_fields())
    }

    /// Returns all fields by name, and prefixed fields also by their local name.
    fn named_fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let whole = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let local = self.fields.iter().filter_map(|(name, value)| {
            name.rsplit_once(':').map(|(_, local)| (local, value.as_str()))
        });
        whole.chain(local)
    }

    /// Returns the category path of the store, else Google's unless it is a number.
    fn category(&self) -> Vec<String> {
        let googles = self.first("google_product_category");
        let googles = googles.filter(|path| !path.bytes().all(|byte| byte.is_ascii_digit()));
        let path = self.first("product_type").or(googles).unwrap_or_default();
        let names = path.split('>').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    fn stock_quantity(&self) -> Result<Option<i64>, FieldError> {
        let text = self.first("quantity").or_else(|| self.first("sell_on_google_quantity"));
        text.map(field_errors::stock_quantity).transpose()
    }

    fn images(&self) -> Vec<ImageDraft> {
        let further = self.all("additional_image_link").flat_map(split_urls);
        let all = self.first("image_link").into_iter().chain(further);
        all.map(|url| ImageDraft { url: url.to_owned(), alt: None }).collect()
    }
}

/// Splits a comma-separated list of URLs. A comma within a URL is not followed by another URL.
pub(crate) fn split_urls(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = next_url(rest) {
        found.push(rest[..at].trim());
        rest = &rest[at + 1..];
    }
    found.push(rest.trim());
    found.retain(|url| !url.is_empty());
    found
}

fn next_url(text: &str) -> Option<usize> {
    let starts_url = |at: &usize| text[at + 1..].trim_start().starts_with("http");
    text.match_indices(',').map(|(at, _)| at).find(starts_url)
}

/// Normalizes `In stock` and `pre-order` to Google's values. Unknown values are kept, and the catalog
/// validates them.
pub(crate) fn stock_status(text: &str) -> String {
    let status = text.to_lowercase().replace([' ', '-'], "_");
    match status.as_str() {
        "pre_order" => "preorder".to_owned(),
        "back_order" => "backorder".to_owned(),
        _ => status,
    }
}
