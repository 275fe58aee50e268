//! `nlweb_who`: stores of the network that match a query, in `NLWeb` form.

use primitives::Failure;
use schemars::JsonSchema;
use search::{SearchArguments, StoreMatch};
use serde::{Deserialize, Serialize};

use super::nlweb_ask::AnswerMeta;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct NlwebWho;

const LIMIT_DEFAULT: i64 = 5;
const LIMIT_MAX: i64 = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What the buyer is looking for.
    #[schemars(length(min = 1, max = 500))]
    query: String,
    /// Maximum stores, 1 to 20; default 5.
    limit: Option<i64>,
    /// Minimum trust score, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    min_trust: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Stores, best first.
    merchants: Vec<Merchant>,
    /// How the answer was produced.
    _meta: AnswerMeta,
}

/// A store.
#[derive(Serialize, JsonSchema)]
pub(super) struct Merchant {
    /// Store slug.
    slug: String,
    /// 0 to 100: matching products relative to the store with the most, weighted by trust.
    score: i64,
    /// Number of its products that match.
    products: i64,
    /// Trust score, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust_score: Option<f64>,
    /// MCP endpoint of the store.
    mcp_url: String,
}

impl Tool for NlwebWho {
    const NAME: &'static str = "nlweb_who";
    const TITLE: &'static str = "Find stores (NLWeb)";
    const PURPOSE: &'static str = "Find which stores of the whole network sell a kind of product. Returns their MCP addresses and trust scores. For offers of one specific product, use find_offers_network. Matches words, not meaning.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let search = SearchArguments {
            query: Some(arguments.query),
            min_trust: arguments.min_trust,
            ..SearchArguments::default()
        };
        let matches =
            context.app.search.matching_stores(search.query()?, context.caller_kind()).await?;
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
        let merchant = |found: StoreMatch| Merchant {
            score: found.score,
            products: found.products,
            trust_score: found.standing.score,
            mcp_url: format!("{}/{}/mcp", context.app.site_url, found.slug),
            slug: found.slug.to_string(),
        };
        let limit = usize::try_from(limit).unwrap_or(1);
        let merchants = matches.into_iter().take(limit).map(merchant).collect();
        Ok(Output { merchants, _meta: AnswerMeta::lexical() })
    }
}
