//! `list_new_arrivals`: the most recently listed products.

use catalog::ProductCard;
use primitives::{Failure, Timestamp};
use schemars::JsonSchema;
use search::{SearchArguments, SearchError, Sort};
use serde::Deserialize;

use super::product_page::ProductPage;
use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct ListNewArrivals;

const LIMIT_DEFAULT: i64 = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Earliest listing time, RFC 3339.
    since: Option<Timestamp>,
    /// Category path or name.
    #[schemars(length(max = 300))]
    category: Option<String>,
    /// Maximum results, 1 to 100; default 10.
    limit: Option<i64>,
}

impl Tool for ListNewArrivals {
    const NAME: &'static str = "list_new_arrivals";
    const TITLE: &'static str = "New arrivals";
    const PURPOSE: &'static str = "List this store's most recently listed products, newest first, optionally of one category.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = ProductPage<ProductCard>;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Self::Output, Failure> {
        let search = SearchArguments {
            category: arguments.category,
            merchants: Some(vec![context.store.slug.to_string()]),
            sort: Some(Sort::Newest),
            limit: Some(arguments.limit.unwrap_or(LIMIT_DEFAULT)),
            ..SearchArguments::default()
        };
        let mut found = context.app.search.find(search.query()?, context.caller_kind()).await?;
        if let Some(since) = arguments.since {
            let before = found.records.len();
            found.records.retain(|record| listed_at(record).is_some_and(|at| at >= since));
            // Results are newest first, so if any was removed, no later page has more.
            if found.records.len() < before {
                found.page.total = i64::try_from(found.records.len()).unwrap_or(0);
            }
        }
        let answer = found.into_cards().map_err(SearchError::Unreadable)?;
        Ok(ProductPage::new(answer.data, answer.meta.page))
    }
}

/// Returns when a product was listed, from its serialized record.
fn listed_at(record: &str) -> Option<Timestamp> {
    #[derive(Deserialize)]
    struct Listed {
        listed_at: Timestamp,
    }
    serde_json::from_str::<Listed>(record).ok().map(|listed| listed.listed_at)
}
