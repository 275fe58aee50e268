//! The wire form of a search and its results, served over REST and MCP.

use std::collections::BTreeMap;

use catalog::ProductCard;
use merchants::Band;
use primitives::{Currency, Details, ErrorCode, PageMeta, PageRequest, Problem, StoreSlug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Facets, Filters, Matched, Query, SearchResults, Sort, Source};

/// Stores that one search may name.
const STORES_MAX: usize = 50;

/// Query, filters and order of a search.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "query": "pour over coffee", "max_price": 60, "limit": 5 })))]
pub struct SearchArguments {
    /// Words in any language, a GTIN, a SKU or a product name. Omit to list everything that passes the filters.
    #[schemars(length(max = 500))]
    pub query: Option<String>,
    /// Category path such as `home-kitchen/coffee`, or one level of it such as `coffee`.
    #[schemars(length(max = 300))]
    pub category: Option<String>,
    /// Brand name.
    #[schemars(length(max = 200))]
    pub brand: Option<String>,
    /// Minimum price, as a decimal amount.
    pub min_price: Option<f64>,
    /// Maximum price, as a decimal amount.
    pub max_price: Option<f64>,
    #[schemars(length(max = 8), description = format!("Currency of the price: {}.", Currency::SUPPORTED_CODES))]
    pub currency: Option<String>,
    /// Only products in stock.
    pub in_stock_only: Option<bool>,
    /// Minimum trust score of the store, 0 to 1.
    pub min_trust: Option<f64>,
    /// Minimum trust label of the store: VERIFIED includes ELITE.
    pub verification_level: Option<Band>,
    /// Store slugs, at most 50. Omit to search all stores.
    #[schemars(length(max = 50))]
    pub merchants: Option<Vec<String>>,
    /// Order of the results: `relevance` (default), `price_asc`, `price_desc`, `newest` or `trust`.
    pub sort: Option<Sort>,
    /// Results per page, 1 to 100; default 20.
    pub limit: Option<i64>,
    /// Page number, from 1.
    pub page: Option<i64>,
    /// `meta.next_cursor` of the previous page, instead of `page`.
    #[schemars(length(max = 100))]
    pub cursor: Option<String>,
    /// Whether to return counts by brand, category, price and so on in `meta.facets`.
    pub facets: Option<bool>,
}

impl SearchArguments {
    /// Validates the arguments and returns the query.
    pub fn query(self) -> Result<Query, InvalidArgument> {
        let is_longer = |text: &Option<String>, limit| {
            text.as_ref().is_some_and(|text| text.chars().count() > limit)
        };
        if is_longer(&self.query, 500) {
            return Err(InvalidArgument::new("query", "at most 500 characters"));
        }
        if self.min_trust.is_some_and(|minimum| !(0.0..=1.0).contains(&minimum)) {
            return Err(InvalidArgument::new("min_trust", "a number from 0 to 1"));
        }
        let currency = match self.currency.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(code) => Some(currency(code)?),
        };
        let price_micros_min = price("min_price", self.min_price)?;
        let price_micros_max = price("max_price", self.max_price)?;
        if price_micros_max == Some(0) {
            return Err(InvalidArgument::new("max_price", "more than 0; omit it for no limit"));
        }
        if price_micros_min
            .zip(price_micros_max)
            .is_some_and(|(minimum, maximum)| minimum > maximum)
        {
            return Err(InvalidArgument::new("max_price", "not less than min_price"));
        }
        Ok(Query {
            words: self.query.unwrap_or_default(),
            stores: slugs(&self.merchants.unwrap_or_default())?,
            filters: Filters {
                category: non_blank(self.category),
                brand: non_blank(self.brand),
                price_micros_min,
                price_micros_max,
                currency,
                in_stock_only: self.in_stock_only.unwrap_or(false),
                trust_min: self.min_trust,
                band_min: self.verification_level,
            },
            sort: self.sort.unwrap_or_default(),
            page: PageRequest::new(self.page, self.limit),
            cursor: non_blank(self.cursor),
            facets: self.facets.unwrap_or(false),
        })
    }
}

/// Parses store slugs.
pub fn slugs(texts: &[String]) -> Result<Vec<StoreSlug>, InvalidArgument> {
    if texts.len() > STORES_MAX {
        return Err(InvalidArgument::new(
            "merchants",
            "at most 50 slugs; omit it to search all stores",
        ));
    }
    let invalid = InvalidArgument {
        code: ErrorCode::InvalidSlug,
        ..InvalidArgument::new("merchants", "store slugs: letters, digits and hyphens")
    };
    texts.iter().map(|text| text.parse().map_err(|_| invalid)).collect()
}

fn non_blank(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn currency(code: &str) -> Result<Currency, InvalidArgument> {
    let found =
        Currency::SUPPORTED.into_iter().find(|currency| currency.code().eq_ignore_ascii_case(code));
    found.ok_or_else(|| InvalidArgument::new("currency", Currency::SUPPORTED_CODES))
}

/// Converts a decimal amount to millionths of the currency unit.
fn price(field: &'static str, amount: Option<f64>) -> Result<Option<u64>, InvalidArgument> {
    let Some(amount) = amount else { return Ok(None) };
    let micros = (amount * 1e6).round();
    if !(0.0..=1e18).contains(&micros) {
        return Err(InvalidArgument::new(field, "an amount of 0 or more"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let micros = micros as u64;
    Ok(Some(micros))
}

/// An argument with an invalid value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be {allowed}")]
pub struct InvalidArgument {
    code: ErrorCode,
    field: &'static str,
    allowed: &'static str,
}

impl InvalidArgument {
    fn new(field: &'static str, allowed: &'static str) -> Self {
        Self { code: ErrorCode::InvalidRequest, field, allowed }
    }
}

impl Problem for InvalidArgument {
    fn code(&self) -> ErrorCode {
        self.code
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.field);
        details.insert("allowed", self.allowed);
    }
}

/// A page of search results.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchResponse")]
pub struct SearchResponse<Record> {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    pub success: bool,
    /// Products, best match first.
    pub data: Vec<Record>,
    /// Page, total, and how the products were found.
    pub meta: SearchMeta,
}

/// Page of the results, and how they were found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchMeta {
    /// Page and total.
    #[serde(flatten)]
    pub page: PageMeta,
    /// Which words of the query the results contain: all, all after spelling correction, or some.
    pub matched: Matched,
    /// Corrected words of the query, keyed by the word as typed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub corrections: BTreeMap<String, String>,
    /// Send it as `cursor` to get the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Where the results come from: the index, or the database while the index is unavailable.
    pub source: Source,
    /// Age of the index in seconds; later changes are not included.
    pub index_age_seconds: f64,
    /// Counts of the results by value; omitted unless `facets` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facets: Option<Facets>,
}

impl SearchResults {
    /// Returns the answer with full records, a `SearchResponse<ProductRecord>`, as JSON. The records are JSON already
    /// and are not parsed.
    pub fn into_json(self) -> serde_json::Result<String> {
        let (records, meta) = self.into_parts();
        let meta = serde_json::to_string(&meta)?;
        let length = records.iter().map(|record| record.len() + 1).sum::<usize>();
        let mut text = String::with_capacity(length + meta.len() + 40);
        text.push_str(r#"{"success":true,"data":["#);
        for (number, record) in records.iter().enumerate() {
            if number > 0 {
                text.push(',');
            }
            text.push_str(record);
        }
        text.push_str(r#"],"meta":"#);
        text.push_str(&meta);
        text.push('}');
        Ok(text)
    }

    /// Returns the answer with a compact card per product.
    pub fn into_cards(self) -> serde_json::Result<SearchResponse<ProductCard>> {
        let (records, meta) = self.into_parts();
        let cards = records.iter().map(|record| ProductCard::of_record(record));
        Ok(SearchResponse { success: true, data: cards.collect::<Result<_, _>>()?, meta })
    }

    fn into_parts(self) -> (Vec<String>, SearchMeta) {
        let age = (self.age.as_secs_f64() * 1000.0).round() / 1000.0;
        let meta = SearchMeta {
            page: self.page,
            matched: self.matched,
            corrections: self.corrections.into_iter().collect(),
            next_cursor: self.next_cursor,
            source: self.source,
            index_age_seconds: age,
            facets: self.facets,
        };
        (self.records, meta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invalid_field(arguments: SearchArguments) -> &'static str {
        arguments.query().map_or_else(|error| error.field, |_| "none")
    }

    #[test]
    fn amounts_are_converted_to_millionths() {
        let arguments = SearchArguments {
            min_price: Some(19.99),
            max_price: Some(0.1 + 19.99),
            ..Default::default()
        };
        let filters = arguments.query().unwrap().filters;
        assert_eq!(filters.price_micros_min, Some(19_990_000));
        assert_eq!(filters.price_micros_max, Some(20_090_000));
    }

    #[test]
    fn an_invalid_argument_is_reported_by_name() {
        let with = SearchArguments::default;
        assert_eq!(invalid_field(SearchArguments { min_price: Some(-1.0), ..with() }), "min_price");
        assert_eq!(
            invalid_field(SearchArguments { max_price: Some(f64::NAN), ..with() }),
            "max_price"
        );
        let nothing = SearchArguments { max_price: Some(0.0), ..with() };
        assert_eq!(invalid_field(nothing), "max_price");
        let (min_price, max_price) = (Some(2.0), Some(1.0));
        assert_eq!(invalid_field(SearchArguments { min_price, max_price, ..with() }), "max_price");
        assert_eq!(invalid_field(SearchArguments { min_trust: Some(1.1), ..with() }), "min_trust");
        let currency = Some(String::from("XAU"));
        assert_eq!(invalid_field(SearchArguments { currency, ..with() }), "currency");
        let query = Some("x".repeat(501));
        assert_eq!(invalid_field(SearchArguments { query, ..with() }), "query");
        let currency = Some(String::from(" eur "));
        assert_eq!(invalid_field(SearchArguments { currency, ..with() }), "none");
    }
}
