//! One row: a bag of fields, and the facts in it.

use std::collections::BTreeMap;

use catalog::{Amount, Fault, FeedSettings, GtinSource, ImageDraft, ProductDraft};
use primitives::Currency;

use super::{OPTIONS, detail};
use crate::amount;
use crate::fault;
use crate::gtin::Places;

/// The fields of a row, in their order, with values that are not empty.
#[derive(Debug, Default)]
pub(crate) struct Bag {
    pub(crate) line: u64,
    /// How much text it came from.
    pub(crate) bytes: usize,
    /// By the names of [`super::field_name`].
    pub(crate) fields: Vec<(String, String)>,
}

/// What a row says, before it is a product or one of its variants.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) id: String,
    pub(super) group: Option<String>,
    pub(super) options: BTreeMap<String, String>,
    /// Without identifier, options and variants.
    pub(super) draft: ProductDraft,
}

#[derive(Default)]
struct Prices {
    price: Option<Amount>,
    list_price: Option<Amount>,
    currency: Option<Currency>,
}

impl Bag {
    pub(super) fn first(&self, name: &str) -> Option<&str> {
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

    /// The product it is about: the group, where there is one.
    pub(crate) fn external_id(&self) -> Option<String> {
        self.owned("item_group_id").or_else(|| self.owned("id"))
    }

    pub(super) fn facts(&self, settings: &FeedSettings) -> Result<Facts, Fault> {
        let id = self.owned("id").ok_or_else(fault::missing_id)?;
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
        Ok(Facts { id, group: self.owned("item_group_id"), options: options.collect(), draft })
    }

    /// A sale price is what it costs now, and the price is then what it cost before.
    fn prices(&self, settings: &FeedSettings) -> Result<Prices, Fault> {
        let read = |name, field| {
            let text = self.first(name);
            text.map(|text| amount::read(text, settings.currency, field)).transpose()
        };
        let (price, sale) = (read("price", "price")?, read("sale_price", "price")?);
        let (now, before) = match sale {
            Some(sale) => (Some(sale), price),
            None => (price, None),
        };
        let currency = now.as_ref().and_then(|price| price.currency);
        if before.as_ref().is_some_and(|price| price.currency != currency) {
            return Err(fault::two_currencies());
        }
        Ok(Prices {
            price: now.map(|price| price.amount),
            list_price: before.map(|price| price.amount),
            currency,
        })
    }

    fn gtin(&self, source: &GtinSource) -> Option<String> {
        let is_denied = matches!(
            self.first("identifier_exists").map(str::to_lowercase).as_deref(),
            Some("no" | "false")
        );
        let places = Places {
            own: self.first("gtin").filter(|_| !is_denied),
            sku: self.first("id"),
            mpn: self.first("mpn"),
            id: self.first("id"),
        };
        places.find(source, self.named_fields())
    }

    /// All fields under their names, also under those that follow a foreign prefix.
    fn named_fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let whole = self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let local = self.fields.iter().filter_map(|(name, value)| {
            name.rsplit_once(':').map(|(_, local)| (local, value.as_str()))
        });
        whole.chain(local)
    }

    /// The shop's own path, else Google's, unless that is given as a number.
    fn category(&self) -> Vec<String> {
        let googles = self.first("google_product_category");
        let googles = googles.filter(|path| !path.bytes().all(|byte| byte.is_ascii_digit()));
        let path = self.first("product_type").or(googles).unwrap_or_default();
        let names = path.split('>').map(str::trim).filter(|name| !name.is_empty());
        names.map(str::to_owned).collect()
    }

    fn stock_quantity(&self) -> Result<Option<i64>, Fault> {
        let text = self.first("quantity").or_else(|| self.first("sell_on_google_quantity"));
        text.map(fault::whole_number).transpose()
    }

    fn images(&self) -> Vec<ImageDraft> {
        let further = self.all("additional_image_link").flat_map(addresses);
        let all = self.first("image_link").into_iter().chain(further);
        all.map(|url| ImageDraft { url: url.to_owned(), alt: None }).collect()
    }
}

/// Addresses with commas between. A comma inside of one is not followed by another address.
fn addresses(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = next_address(rest) {
        found.push(rest[..at].trim());
        rest = &rest[at + 1..];
    }
    found.push(rest.trim());
    found.retain(|address| !address.is_empty());
    found
}

fn next_address(text: &str) -> Option<usize> {
    let begins = |at: &usize| text[at + 1..].trim_start().starts_with("http");
    text.match_indices(',').map(|(at, _)| at).find(begins)
}

/// Google writes `in_stock`; shops also write `In stock` and `pre-order`. What is none of Google's
/// values stays as it is, for the catalog to judge.
fn stock_status(text: &str) -> String {
    let status = text.to_lowercase().replace([' ', '-'], "_");
    match status.as_str() {
        "pre_order" => "preorder".to_owned(),
        "back_order" => "backorder".to_owned(),
        _ => status,
    }
}
