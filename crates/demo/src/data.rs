//! The data files under `data/`, embedded in the binary, and the types they are read into.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use crate::quality::Quality;
use crate::world::Store;

macro_rules! file {
    ($name:literal) => {
        DataFile { name: $name, text: include_str!(concat!("../data/", $name)) }
    };
}

/// The articles that several stores sell.
pub(crate) const ARTICLES: DataFile = file!("articles.toml");

/// The stores: the demo store first, then by descending trust score.
pub(crate) const STORES: &[DataFile] = &[
    file!("demo-store.toml"),
    file!("olaria-salgueira.toml"),
    file!("kestrel-rain.toml"),
    file!("skarvdal.toml"),
    file!("puddlewick-toys.toml"),
    file!("orelys.toml"),
    file!("marrow-lane.toml"),
    file!("orto-lucido.toml"),
    file!("wiederlicht.toml"),
    file!("kivikiri.toml"),
    file!("spaak-en-zoon.toml"),
    file!("low-lantern-audio.toml"),
    file!("gizmogulch.toml"),
    file!("velvetine-outlet.toml"),
    file!("tuulikki-candles.toml"),
];

/// A data file.
pub(crate) struct DataFile {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
}

/// An error in a data file.
#[derive(Debug, thiserror::Error)]
#[error("crates/demo/data/{file}:{line}: {field}: {reason}")]
pub(crate) struct DataError {
    file: &'static str,
    /// Counted from 1.
    line: usize,
    /// Path of the field, such as `line[2].item[0].price_cents`.
    field: String,
    reason: String,
}

impl DataFile {
    /// Parses the file.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        let syntax_error = |error: toml::de::Error| self.error(error.span(), "", error.message());
        let document = toml::Deserializer::parse(self.text).map_err(syntax_error)?;
        serde_path_to_error::deserialize(document).map_err(|error| {
            let field = error.path().to_string();
            self.error(error.inner().span(), &field, error.inner().message())
        })
    }

    /// Returns an error at a position of the file.
    pub(crate) fn error(&self, span: Option<Range<usize>>, field: &str, reason: &str) -> DataError {
        let before = span.and_then(|span| self.text.get(..span.start)).unwrap_or_default();
        DataError {
            file: self.name,
            line: before.matches('\n').count() + 1,
            field: if field.is_empty() { "syntax" } else { field }.to_owned(),
            reason: reason.to_owned(),
        }
    }
}

/// The file of a store.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoreFile {
    pub(crate) store: Store,
    pub(crate) generator: Generator,
    #[serde(rename = "line")]
    pub(crate) lines: Vec<Line>,
}

/// Parameters of the generated values of a store.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Generator {
    pub(crate) quality: Quality,
    /// Largest stock of one product or variant.
    pub(crate) stock_max: u16,
}

/// A product line: products with common properties.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// The SKU of an item is the prefix, a hyphen and the item's number.
    pub(crate) sku_prefix: String,
    /// Path of a category of the store.
    pub(crate) category: Spanned<String>,
    pub(crate) brand: String,
    #[serde(default = "new")]
    pub(crate) condition: String,
    /// `None`: the store's currency.
    pub(crate) currency: Option<String>,
    /// Appended to the description of every item.
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) attributes: BTreeMap<String, String>,
    /// Options of every item, before the item's own.
    #[serde(default)]
    pub(crate) options: Vec<ProductOption>,
    #[serde(rename = "item")]
    pub(crate) items: Vec<Item>,
}

/// A product of a line. It has either a name or the key of an article.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Item {
    /// Part of the SKU and thereby of the id. Given explicitly, so that inserting an item renumbers no other.
    pub(crate) number: Spanned<u16>,
    pub(crate) name: Option<String>,
    /// Key of an article, which determines the name, description, attributes and colours.
    pub(crate) article: Option<Spanned<String>>,
    /// Hundredths of the currency, also of one with more decimals.
    pub(crate) price_cents: i64,
    /// `None`: the brand of the article or the line.
    pub(crate) brand: Option<String>,
    #[serde(default)]
    pub(crate) description: String,
    /// Added to the line's attributes; replaces those of the same name.
    #[serde(default)]
    pub(crate) attributes: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) options: Vec<ProductOption>,
    /// Values of the option `colour`, the last one.
    #[serde(default)]
    pub(crate) colours: Vec<String>,
    #[serde(default)]
    pub(crate) availability: Availability,
}

/// How the stock of an item is determined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Availability {
    /// By the hash of the SKU.
    #[default]
    Generated,
    /// Always in stock, and no field is left out.
    Always,
    Preorder,
    Discontinued,
}

/// An option of a product, such as size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProductOption {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
    /// Surcharge of each value; 0 where the list is shorter than the values.
    #[serde(default)]
    pub(crate) surcharge_cents: Vec<i64>,
}

/// The file of the articles that several stores sell.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArticleFile {
    #[serde(rename = "article")]
    pub(crate) articles: Vec<Article>,
}

/// An article that several stores sell under one GTIN.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Article {
    /// Determines the GTIN.
    pub(crate) key: String,
    pub(crate) brand: String,
    pub(crate) name: String,
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) attributes: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) colours: Vec<String>,
}

fn new() -> String {
    String::from("new")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &'static str) -> String {
        let file = DataFile { name: "store.toml", text };
        file.parse::<ArticleFile>().unwrap_err().to_string()
    }

    #[test]
    fn errors_name_file_line_and_field() {
        let misspelt = "[[article]]\nkey = \"a\"\nbrnad = \"b\"\n";
        let found = error(misspelt);
        assert!(found.starts_with("crates/demo/data/store.toml:3: article[0].brnad: "), "{found}");
        let wrong_type = "[[article]]\nkey = \"a\"\nbrand = 1\n";
        let found = error(wrong_type);
        assert!(found.starts_with("crates/demo/data/store.toml:3: article[0].brand: "), "{found}");
        let found = error("[[article]]\nkey = \n");
        assert!(found.starts_with("crates/demo/data/store.toml:2: syntax: "), "{found}");
    }
}
