//! `list_new_arrivals`: what the store listed last.

use catalog::ProductCard;
use primitives::{Failure, PageMeta, Timestamp};
use schemars::JsonSchema;
use search::{SearchArguments, SearchError, Sort};
use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct ListNewArrivals;

const LIMIT_DEFAULT: i64 = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Only what was listed since this moment (RFC 3339).
    since: Option<Timestamp>,
    /// Only this category.
    #[schemars(length(max = 300))]
    category: Option<String>,
    /// How many, 1 to 100; 10 if left out.
    limit: Option<i64>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Always true.
    #[schemars(extend("enum" = [true]))]
    success: bool,
    /// The products, newest first.
    data: Vec<ProductCard>,
    /// The page.
    meta: PageMeta,
}

impl Tool for ListNewArrivals {
    const NAME: &'static str = "list_new_arrivals";
    const TITLE: &'static str = "New arrivals";
    const PURPOSE: &'static str =
        "List this store's newest products, newest first, of all categories or of one.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(call: &Call<'_>, arguments: Arguments) -> Result<Output, Failure> {
        let search = SearchArguments {
            category: arguments.category,
            merchants: Some(vec![call.store.slug.to_string()]),
            sort: Some(Sort::Newest),
            limit: Some(arguments.limit.unwrap_or(LIMIT_DEFAULT)),
            ..SearchArguments::default()
        };
        let mut found = call.search.find(search.query()?, call.kind()).await?;
        if let Some(since) = arguments.since {
            let before = found.records.len();
            found.records.retain(|record| listed_at(record).is_some_and(|at| at >= since));
            // The newest come first, so whatever was cut off is the end of what there is.
            if found.records.len() < before {
                found.page.total = i64::try_from(found.records.len()).unwrap_or(0);
            }
        }
        let answer = found.into_cards().map_err(SearchError::Unreadable)?;
        Ok(Output { success: true, data: answer.data, meta: answer.meta.page })
    }
}

/// When a product was listed, by its record.
fn listed_at(record: &str) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct Listed {
        listed_at: Timestamp,
    }
    serde_json::from_str::<Listed>(record).ok().map(|listed| listed.listed_at)
}
