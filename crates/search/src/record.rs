//! The wire form of a search and its answer, served by both doors.

use std::collections::BTreeMap;

use catalog::ProductCard;
use merchants::Band;
use primitives::{Currency, Details, ErrorCode, PageMeta, PageRequest, Problem, StoreSlug};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{Facets, Filters, Found, Matched, Query, Sort, Source};

/// Stores one search may name.
const STORES_MAX: usize = 50;

/// What to search for.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("example" = json!({ "query": "pour over coffee", "max_price": 60, "limit": 5 })))]
pub struct SearchArguments {
    /// Words of any language, an article number, a SKU or a product's name. Leave it out to list everything that passes the filters.
    #[schemars(length(max = 500))]
    pub query: Option<String>,
    /// Only this category: a path such as `home-kitchen/coffee`, or the name of one place in it such as `coffee`.
    #[schemars(length(max = 300))]
    pub category: Option<String>,
    /// Only this brand.
    #[schemars(length(max = 200))]
    pub brand: Option<String>,
    /// The least price, as a decimal amount.
    pub min_price: Option<f64>,
    /// The highest price, as a decimal amount.
    pub max_price: Option<f64>,
    /// Only prices in this currency: USD, EUR or USDC.
    #[schemars(length(max = 8))]
    pub currency: Option<String>,
    /// Only what can be had at once.
    pub in_stock_only: Option<bool>,
    /// The least trust score of the store, 0 to 1.
    pub min_trust: Option<f64>,
    /// The least trust label of the store: VERIFIED also finds ELITE.
    pub verification_level: Option<Band>,
    /// Only these stores, by their slugs; at most 50.
    #[schemars(length(max = 50))]
    pub merchants: Option<Vec<String>>,
    /// The order: `relevance`, `price_asc`, `price_desc`, `newest` or `trust`.
    pub sort: Option<Sort>,
    /// Results on a page, 1 to 100; 20 if left out.
    pub limit: Option<i64>,
    /// Which page, from 1.
    pub page: Option<i64>,
    /// Instead of a page: `meta.next_cursor` of the last answer, to go on behind it.
    #[schemars(length(max = 100))]
    pub cursor: Option<String>,
    /// Whether to count the values of brand, category, price and so on, in `meta.facets`.
    pub facets: Option<bool>,
}

impl SearchArguments {
    /// The search they mean.
    pub fn query(self) -> Result<Query, ArgumentFault> {
        let long = |text: &Option<String>, most| {
            text.as_ref().is_some_and(|text| text.chars().count() > most)
        };
        if long(&self.query, 500) {
            return Err(ArgumentFault::new("query", "at most 500 characters"));
        }
        if self.min_trust.is_some_and(|least| !(0.0..=1.0).contains(&least)) {
            return Err(ArgumentFault::new("min_trust", "a number from 0 to 1"));
        }
        let currency = match self.currency.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(code) => Some(currency(code)?),
        };
        let price_micros_min = price("min_price", self.min_price)?;
        let price_micros_max = price("max_price", self.max_price)?;
        if price_micros_min.zip(price_micros_max).is_some_and(|(least, most)| least > most) {
            return Err(ArgumentFault::new("max_price", "not less than min_price"));
        }
        Ok(Query {
            words: self.query.unwrap_or_default(),
            stores: slugs(&self.merchants.unwrap_or_default())?,
            filters: Filters {
                category: filled(self.category),
                brand: filled(self.brand),
                price_micros_min,
                price_micros_max,
                currency,
                in_stock_only: self.in_stock_only.unwrap_or(false),
                trust_min: self.min_trust,
                band_min: self.verification_level,
            },
            sort: self.sort.unwrap_or_default(),
            page: PageRequest::new(self.page, self.limit),
            cursor: filled(self.cursor),
            facets: self.facets.unwrap_or(false),
        })
    }
}

/// Stores, by the texts that name them.
pub fn slugs(texts: &[String]) -> Result<Vec<StoreSlug>, ArgumentFault> {
    if texts.len() > STORES_MAX {
        return Err(ArgumentFault::new(
            "merchants",
            "at most 50 slugs; left out, it means all stores",
        ));
    }
    let wrong = ArgumentFault {
        code: ErrorCode::InvalidSlug,
        ..ArgumentFault::new("merchants", "slugs of stores: letters, digits and hyphens")
    };
    texts.iter().map(|text| text.parse().map_err(|_| wrong)).collect()
}

fn filled(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

fn currency(code: &str) -> Result<Currency, ArgumentFault> {
    let found =
        Currency::SUPPORTED.into_iter().find(|currency| currency.code().eq_ignore_ascii_case(code));
    found.ok_or_else(|| ArgumentFault::new("currency", "USD, EUR or USDC"))
}

/// A decimal amount in millionths.
fn price(field: &'static str, amount: Option<f64>) -> Result<Option<u64>, ArgumentFault> {
    let Some(amount) = amount else { return Ok(None) };
    let micros = (amount * 1e6).round();
    if !(0.0..=1e18).contains(&micros) {
        return Err(ArgumentFault::new(field, "an amount of 0 or more"));
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    let micros = micros as u64;
    Ok(Some(micros))
}

/// An argument that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be {allowed}")]
pub struct ArgumentFault {
    code: ErrorCode,
    field: &'static str,
    allowed: &'static str,
}

impl ArgumentFault {
    fn new(field: &'static str, allowed: &'static str) -> Self {
        Self { code: ErrorCode::InvalidRequest, field, allowed }
    }
}

impl Problem for ArgumentFault {
    fn code(&self) -> ErrorCode {
        self.code
    }

    fn details(&self, details: &mut Details) {
        details.insert("field", self.field);
        details.insert("allowed", self.allowed);
    }
}

/// A page of products that were found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SearchAnswer")]
pub struct SearchAnswer<Record> {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    pub success: bool,
    /// The products, best first.
    pub data: Vec<Record>,
    /// Which page this is, how many products there are, and how they were found.
    pub meta: SearchMeta,
}

/// The page, and how it came about.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SearchMeta {
    /// Page and total.
    #[serde(flatten)]
    pub page: PageMeta,
    /// Which words of the query results have: all of them, all of them after corrections, or some.
    pub matched: Matched,
    /// Words of the query that were read as others, by what was typed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub corrections: BTreeMap<String, String>,
    /// Goes on behind the last result, as `cursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Where the answer comes from: the index, or the database while the index is away.
    pub source: Source,
    /// Changes of the last so many seconds may not show yet.
    pub index_age_seconds: f64,
    /// How results spread, if that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facets: Option<Facets>,
}

impl Found {
    /// The answer with full records, a `SearchAnswer<ProductRecord>`, as JSON. The records are JSON
    /// already and are not read again.
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

    /// The answer with what a model needs of each product.
    pub fn into_cards(self) -> serde_json::Result<SearchAnswer<ProductCard>> {
        let (records, meta) = self.into_parts();
        let cards = records.iter().map(|record| ProductCard::of_record(record));
        Ok(SearchAnswer { success: true, data: cards.collect::<Result<_, _>>()?, meta })
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

    fn fault(arguments: SearchArguments) -> &'static str {
        arguments.query().map_or_else(|fault| fault.field, |_| "none")
    }

    #[test]
    fn amounts_become_millionths() {
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
    fn what_cannot_be_meant_is_refused_by_name() {
        let with = SearchArguments::default;
        assert_eq!(fault(SearchArguments { min_price: Some(-1.0), ..with() }), "min_price");
        assert_eq!(fault(SearchArguments { max_price: Some(f64::NAN), ..with() }), "max_price");
        let (min_price, max_price) = (Some(2.0), Some(1.0));
        assert_eq!(fault(SearchArguments { min_price, max_price, ..with() }), "max_price");
        assert_eq!(fault(SearchArguments { min_trust: Some(1.1), ..with() }), "min_trust");
        let currency = Some(String::from("XAU"));
        assert_eq!(fault(SearchArguments { currency, ..with() }), "currency");
        let query = Some("x".repeat(501));
        assert_eq!(fault(SearchArguments { query, ..with() }), "query");
        let currency = Some(String::from(" eur "));
        assert_eq!(fault(SearchArguments { currency, ..with() }), "none");
    }
}
