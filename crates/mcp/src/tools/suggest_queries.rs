//! `suggest_queries`: searches that begin so.

use primitives::Failure;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct SuggestQueries;

const LIMIT_DEFAULT: i64 = 8;
const LIMIT_MAX: i64 = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The beginning of a search.
    #[schemars(length(min = 1, max = 200))]
    prefix: String,
    /// How many, 1 to 20; 8 if left out.
    limit: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// The searches, the most frequent words first.
    suggestions: Vec<String>,
}

impl Tool for SuggestQueries {
    const NAME: &'static str = "suggest_queries";
    const TITLE: &'static str = "Suggest searches";
    const PURPOSE: &'static str =
        "Complete the beginning of a search with words that find something in this store.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let most = arguments.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
        let most = usize::try_from(most).unwrap_or(1);
        let stores = vec![call.store.slug.clone()];
        let suggestions = call.search.suggest(arguments.prefix, stores, most).await?;
        Ok(Output { suggestions })
    }
}
