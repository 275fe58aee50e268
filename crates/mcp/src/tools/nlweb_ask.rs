//! `nlweb_ask`: a question in plain words, as `NLWeb` asks it. Answered by words for now; `_meta` says so.

use catalog::ProductCard;
use primitives::Failure;
use schemars::JsonSchema;
use search::{SearchAnswer, SearchArguments, SearchError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct NlwebAsk;

const RESULTS_DEFAULT: i64 = 10;
const RESULTS_MAX: i64 = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The question, as the buyer put it.
    #[schemars(length(min = 1, max = 500))]
    query: String,
    /// The question with what was said before worked in; searched for instead of `query`.
    #[schemars(length(max = 500))]
    decontextualized_query: Option<String>,
    /// Earlier questions of the conversation.
    #[expect(dead_code, reason = "taken because NLWeb clients send it; words alone cannot use it")]
    #[schemars(length(max = 20))]
    prev: Option<Vec<String>>,
    /// `list` gives results, `summarize` adds a line about them, `generate` answers with quotes from them.
    mode: Option<Mode>,
    /// How many results, 1 to 50; 10 if left out.
    num_results: Option<i64>,
    /// A name for the question, given back.
    #[schemars(length(max = 100))]
    query_id: Option<String>,
    /// Taken and ignored: answers come whole.
    #[expect(dead_code, reason = "taken because NLWeb clients send it")]
    streaming: Option<bool>,
    /// Taken and ignored: the store is the one of this endpoint.
    #[expect(dead_code, reason = "taken because NLWeb clients send it")]
    #[schemars(length(max = 200))]
    site: Option<String>,
}

/// What kind of answer is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    List,
    Summarize,
    Generate,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The question's name, if it was given one.
    #[serde(skip_serializing_if = "Option::is_none")]
    query_id: Option<String>,
    /// The results, best first.
    results: Vec<Answer>,
    /// For `summarize` and `generate`: put together from the results, with their numbers in brackets.
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    /// How the answer came about.
    _meta: Making,
}

/// A result.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// Where it is.
    url: String,
    /// What it is called.
    name: String,
    /// The store.
    site: String,
    /// 0 to 100, by its place.
    score: i64,
    /// What it is.
    description: String,
    /// The same as a schema.org Product.
    #[schemars(with = "serde_json::Map<String, Value>")]
    schema_object: Value,
}

/// How an answer came about.
#[derive(Serialize, JsonSchema)]
pub(super) struct Making {
    /// Always `Answer`.
    response_type: &'static str,
    /// The version of the protocol.
    version: &'static str,
    /// `lexical`: found by words, not by meaning.
    retrieval: &'static str,
    /// `extractive`: texts are quoted, none is made up.
    generator: &'static str,
}

impl Making {
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
    const PURPOSE: &'static str = "Ask this store a question in plain words and get matching products as schema.org records. Found by words, not by meaning.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let asked = arguments.decontextualized_query.filter(|text| !text.trim().is_empty());
        let limit = arguments.num_results.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX);
        let search = SearchArguments {
            query: Some(asked.unwrap_or(arguments.query)),
            merchants: Some(vec![call.store.slug.to_string()]),
            limit: Some(limit),
            ..SearchArguments::default()
        };
        let found = call.search.find(search.query()?, call.kind()).await?;
        let found = found.into_cards().map_err(SearchError::Unreadable)?;
        let summary = match arguments.mode.unwrap_or(Mode::List) {
            Mode::List => None,
            Mode::Summarize => Some(summary(&found, 3)),
            Mode::Generate => Some(summary(&found, 5)),
        };
        let results = found.data.iter().enumerate().map(|(place, card)| answer(call, place, card));
        Ok(Output {
            query_id: arguments.query_id,
            results: results.collect(),
            summary,
            _meta: Making::lexical(),
        })
    }
}

fn answer(call: &Call<'_>, place: usize, card: &ProductCard) -> Answer {
    let place = i64::try_from(place).unwrap_or(i64::MAX);
    let url = format!("{}/api/v1/agent/products/{}", call.site_url, card.id);
    let availability = match card.stock_status {
        catalog::StockStatus::InStock | catalog::StockStatus::LowStock => "InStock",
        catalog::StockStatus::Backorder => "BackOrder",
        catalog::StockStatus::Preorder => "PreOrder",
        catalog::StockStatus::Discontinued => "Discontinued",
        catalog::StockStatus::OutOfStock => "OutOfStock",
    };
    Answer {
        schema_object: json!({
            "@type": "Product",
            "productID": card.id,
            "name": card.name,
            "brand": card.brand,
            "offers": {
                "@type": "Offer",
                "price": card.price,
                "priceCurrency": card.currency,
                "availability": format!("https://schema.org/{availability}"),
            },
        }),
        url,
        name: card.name.clone(),
        site: card.merchant.slug.clone(),
        score: (100 - place.saturating_mul(2)).max(1),
        description: card.description.clone(),
    }
}

/// How many there are, and what the first are and cost.
fn summary(found: &SearchAnswer<ProductCard>, most: usize) -> String {
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
