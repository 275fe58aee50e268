//! `suggest_queries`: completions of a search term.

use primitives::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct SuggestQueries;

const LIMIT_DEFAULT: i64 = 8;
const LIMIT_MAX: i64 = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// First characters of the search.
    #[schemars(length(min = 1, max = 200))]
    prefix: String,
    /// Maximum suggestions, 1 to 20; default 8.
    limit: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Suggested searches, most frequent words first.
    suggestions: Vec<String>,
}

impl Tool for SuggestQueries {
    const NAME: &'static str = "suggest_queries";
    const TITLE: &'static str = "Suggest searches";
    const PURPOSE: &'static str =
        "Complete a partly typed search term with words that occur in this store's products.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        let limit = arguments.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
        let limit = usize::try_from(limit).unwrap_or(1);
        let stores = vec![context.store.slug.clone()];
        let suggestions = context.app.search.suggest(arguments.prefix, stores, limit).await?;
        Ok(Output { suggestions })
    }
}
