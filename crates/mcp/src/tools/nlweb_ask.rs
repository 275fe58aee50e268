//! `nlweb_ask`: a natural-language question in `NLWeb` form. Retrieval is lexical, as `_meta` states.

use catalog::ProductCard;
use primitives::Failure;
use schemars::JsonSchema;
use search::{SearchArguments, SearchError, SearchResponse};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct NlwebAsk;

const RESULTS_DEFAULT: i64 = 10;
const RESULTS_MAX: i64 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Question in natural language.
    #[schemars(length(min = 1, max = 500))]
    query: String,
    /// Question rewritten to stand alone; replaces `query`.
    #[schemars(length(max = 500))]
    decontextualized_query: Option<String>,
    /// Earlier questions; ignored.
    #[expect(
        dead_code,
        reason = "accepted because NLWeb clients send it; lexical search cannot use it"
    )]
    #[schemars(length(max = 20))]
    prev: Option<Vec<String>>,
    /// `list` (default) returns results; `summarize` and `generate` add a short summary of the first 3 or 5.
    mode: Option<Mode>,
    /// Maximum results, 1 to 50; default 10.
    num_results: Option<i64>,
    /// Returned unchanged.
    #[schemars(length(max = 100))]
    query_id: Option<String>,
    /// Ignored.
    #[expect(dead_code, reason = "accepted because NLWeb clients send it")]
    streaming: Option<bool>,
    /// Ignored.
    #[expect(dead_code, reason = "accepted because NLWeb clients send it")]
    #[schemars(length(max = 200))]
    site: Option<String>,
}

/// Kind of answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    List,
    Summarize,
    Generate,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// `query_id` of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    query_id: Option<String>,
    /// Results, best first.
    results: Vec<Answer>,
    /// For `summarize` and `generate`: text assembled from the results, numbered in brackets.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// How the answer was produced.
    _meta: AnswerMeta,
}

/// A result.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Address of the product.
    url: String,
    /// Product name.
    name: String,
    /// Store slug.
    site: String,
    /// 0 to 100, by rank.
    score: i64,
    /// Product description.
    description: String,
    /// The result as a schema.org Product.
    #[schemars(with = "serde_json::Map<String, Value>")]
    schema_object: Value,
}

/// How an answer was produced.
#[derive(Serialize, JsonSchema)]
pub(super) struct AnswerMeta {
    /// Always `Answer`.
    response_type: &'static str,
    /// `NLWeb` protocol version.
    version: &'static str,
    /// `lexical`: matched by words, not meaning.
    retrieval: &'static str,
    /// `extractive`: text is quoted, not generated.
    generator: &'static str,
}

impl AnswerMeta {
    pub(super) fn lexical() -> Self {
        Self {
            response_type: "Answer",
            version: "0.54",
            retrieval: "lexical",
            generator: "extractive",
        }
    }
}

impl Tool for NlwebAsk {
    const NAME: &'static str = "nlweb_ask";
    const TITLE: &'static str = "Ask the store (NLWeb)";
    const PURPOSE: &'static str = "Answer an NLWeb ask request: returns this store's matching products as schema.org records. Meant for NLWeb clients; otherwise use search_products, which has filters. Matches words, not meaning.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let standalone = arguments.decontextualized_query.filter(|text| !text.trim().is_empty());
        let limit = arguments.num_results.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX);
        let search = SearchArguments {
            query: Some(standalone.unwrap_or(arguments.query)),
            merchants: Some(vec![context.store.slug.to_string()]),
            limit: Some(limit),
            ..SearchArguments::default()
        };
        let found = context.app.search.find(search.query()?, context.caller_kind()).await?;
        let found = found.into_cards().map_err(SearchError::Unreadable)?;
        let summary = match arguments.mode.unwrap_or(Mode::List) {
            Mode::List => None,
            Mode::Summarize => Some(summary(&found, 3)),
            Mode::Generate => Some(summary(&found, 5)),
        };
        let results = found.data.iter().enumerate().map(|(rank, card)| answer(context, rank, card));
        Ok(Output {
            query_id: arguments.query_id,
            results: results.collect(),
            summary,
            _meta: AnswerMeta::lexical(),
        })
    }
}

fn answer(context: &RequestContext, rank: usize, card: &ProductCard) -> Answer {
    let rank = i64::try_from(rank).unwrap_or(i64::MAX);
    let url = format!("{}/api/v1/agent/products/{}", context.app.site_url, card.id);
    let availability = match card.stock_status {
        catalog::StockStatus::InStock | catalog::StockStatus::LowStock => Some("InStock"),
        catalog::StockStatus::Backorder => Some("BackOrder"),
        catalog::StockStatus::Preorder => Some("PreOrder"),
        catalog::StockStatus::Discontinued => Some("Discontinued"),
        catalog::StockStatus::OutOfStock => Some("OutOfStock"),
        catalog::StockStatus::Unknown => None,
    };
    let mut offer =
        json!({ "@type": "Offer", "price": card.price, "priceCurrency": card.currency });
    if let Some(availability) = availability {
        offer["availability"] = json!(format!("https://schema.org/{availability}"));
    }
    Answer {
        schema_object: json!({
            "@type": "Product",
            "productID": card.id,
            "name": card.name,
            "brand": card.brand,
            "offers": offer,
        }),
        url,
        name: card.name.clone(),
        site: card.merchant.slug.clone(),
        score: (100 - rank.saturating_mul(2)).max(1),
        description: card.description.clone(),
    }
}

/// Returns the total and the names and prices of the first results.
fn summary(found: &SearchResponse<ProductCard>, most: usize) -> String {
    let total = found.meta.page.total;
    if found.data.is_empty() {
        return String::from("Nothing was found.");
    }
    let line = |(number, card): (usize, &ProductCard)| {
        format!("[{}] {} for {} {}", number + 1, card.name, card.price, card.currency)
    };
    let lines: Vec<String> = found.data.iter().take(most).enumerate().map(line).collect();
    format!("{total} found. {}.", lines.join("; "))
}
