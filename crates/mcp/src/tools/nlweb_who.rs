//! `nlweb_who`: which stores of the network to ask, as `NLWeb` has it.

use primitives::Failure;
use schemars::JsonSchema;
use search::{SearchArguments, Seller};
use serde::{Deserialize, Serialize};

use super::nlweb_ask::Making;
use crate::call::Call;
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
    /// How many stores, 1 to 20; 5 if left out.
    limit: Option<i64>,
    /// The least trust score, 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    min_trust: Option<f64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The stores, best first.
    merchants: Vec<Merchant>,
    /// How the answer came about.
    _meta: Making,
}

/// A store to ask.
#[derive(Serialize, JsonSchema)]
pub(super) struct Merchant {
    /// Store slug.
    slug: String,
    /// 0 to 100: how much of what was found it sells, weighed with its trust.
    score: i64,
    /// How many of its products match.
    products: i64,
    /// Trust score, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    trust_score: Option<f64>,
    /// Where to ask it.
    mcp_url: String,
}

impl Tool for NlwebWho {
    const NAME: &'static str = "nlweb_who";
    const TITLE: &'static str = "Which stores to ask (NLWeb)";
    const PURPOSE: &'static str = "Find which stores of the whole network sell what the buyer means, with their MCP addresses. By words, not by meaning.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let search = SearchArguments {
            query: Some(arguments.query),
            min_trust: arguments.min_trust,
            ..SearchArguments::default()
        };
        let sellers = call.search.sellers(search.query()?, call.kind()).await?;
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
        let merchant = |seller: Seller| Merchant {
            score: seller.score,
            products: seller.products,
            trust_score: seller.standing.score,
            mcp_url: format!("{}/{}/mcp", call.site_url, seller.slug),
            slug: seller.slug.to_string(),
        };
        let most = usize::try_from(limit).unwrap_or(1);
        let merchants = sellers.into_iter().take(most).map(merchant).collect();
        Ok(Output { merchants, _meta: Making::lexical() })
    }
}
