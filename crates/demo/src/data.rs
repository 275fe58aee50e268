//! The data files under `data/`, embedded in the binary, and the types they are read into.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::quality::Quality;
use crate::world::Store;

macro_rules! file {
    ($name:literal) => {
        DataFile { name: $name, text: include_str!(concat!("../data/", $name)) }
    };
}

/// The articles that several stores sell.
pub(crate) const ARTICLES: DataFile = file!("articles.toml");

/// Values of all stores whose own file does not set them.
pub(crate) const DEFAULTS: DataFile = file!("defaults.toml");

/// The stores: the demo store first, then by descending trust score.
pub(crate) const STORES: &[DataFile] = &[
    file!("demo-store.toml"),
    file!("olaria-salgueira.toml"),
    file!("kestrel-rain.toml"),
    file!("puddlewick-toys.toml"),
    file!("skarvdal.toml"),
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
        let table = DeTable::parse(self.text).map_err(|error| self.toml_error("", &error))?;
        deserialize(table, |field, error| self.toml_error(field, error))
    }

    /// Parses the file. Values that it does not contain are those of `defaults`.
    pub(crate) fn parse_with<T: DeserializeOwned>(&self, defaults: &Self) -> Result<T, DataError> {
        // The defaults are parsed as if they followed this file, so that a position tells which file it is in.
        let offset = self.text.len() + 1;
        let shifted = format!("{:offset$}{}", "", defaults.text);
        let locate = |field: &str, error: &toml::de::Error| match error.span() {
            Some(span) if span.start >= offset => {
                let span = span.start - offset..span.end - offset;
                defaults.error(Some(span), field, error.message())
            }
            _ => self.toml_error(field, error),
        };
        let parse = |text| DeTable::parse(text).map_err(|error| locate("", &error));
        let mut table = parse(self.text)?;
        fill(table.get_mut(), parse(&shifted)?.into_inner());
        deserialize(table, locate)
    }

    fn toml_error(&self, field: &str, error: &toml::de::Error) -> DataError {
        self.error(error.span(), field, error.message())
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

/// Deserializes a document. `locate` returns the error of a field.
fn deserialize<T: DeserializeOwned>(
    table: Spanned<DeTable<'_>>,
    locate: impl Fn(&str, &toml::de::Error) -> DataError,
) -> Result<T, DataError> {
    serde_path_to_error::deserialize(toml::Deserializer::from(table))
        .map_err(|error| locate(&error.path().to_string(), error.inner()))
}

/// Adds the values of `defaults` that the table does not contain. Tables are merged; other values are not.
fn fill<'text>(table: &mut DeTable<'text>, defaults: DeTable<'text>) {
    for (key, default) in defaults {
        let Some(own) = table.get_mut(&key) else {
            table.insert(key, default);
            continue;
        };
        if let (DeValue::Table(own), DeValue::Table(defaults)) =
            (own.get_mut(), default.into_inner())
        {
            fill(own, defaults);
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

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shared {
        first: i32,
        inner: Inner,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        second: i32,
        list: Vec<i32>,
    }

    fn with_defaults(text: &'static str, defaults: &'static str) -> Result<Shared, String> {
        let defaults = DataFile { name: "defaults.toml", text: defaults };
        let file = DataFile { name: "store.toml", text };
        file.parse_with(&defaults).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_fill_what_a_file_does_not_set() {
        let defaults = "first = 1\n[inner]\nsecond = 2\nlist = [1, 2]\n";
        let merged = |first, second, list| Shared { first, inner: Inner { second, list } };
        assert_eq!(with_defaults("", defaults), Ok(merged(1, 2, vec![1, 2])));
        let own = "first = 5\n[inner]\nlist = [3]\n";
        assert_eq!(with_defaults(own, defaults), Ok(merged(5, 2, vec![3])));
    }

    #[test]
    fn an_error_in_the_defaults_names_their_file() {
        let own = "first = 5\n# No table.\n";
        let cases = [
            (own, "\n[inner]\nsecond = 2\nlist = 1\n", "defaults.toml:4: inner.list: "),
            (own, "\n[inner]\nthird = 2\n", "defaults.toml:3: inner.third: "),
            (own, "[inner\n", "defaults.toml:1: syntax: "),
            ("first = 5\n[inner]\nthird = 2\n", "", "store.toml:3: inner.third: "),
            ("first = 5\n[inner\n", "", "store.toml:2: syntax: "),
        ];
        for (text, defaults, expected) in cases {
            let error = with_defaults(text, defaults).unwrap_err();
            assert!(error.starts_with(&format!("crates/demo/data/{expected}")), "{error}");
        }
    }
}
