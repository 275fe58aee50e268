//! `get_trust_history`: past trust scores.

use primitives::{Failure, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use trust::HistoryRecord;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct GetTrustHistory;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Earliest time, RFC 3339.
    from: Option<Timestamp>,
    /// Latest time, RFC 3339.
    to: Option<Timestamp>,
}

impl Tool for GetTrustHistory {
    const NAME: &'static str = "get_trust_history";
    const TITLE: &'static str = "Trust history";
    const PURPOSE: &'static str = "Get past trust scores of this store, newest first. For the current score, use get_trust_score.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = HistoryRecord;

    async fn call(
        context: &RequestContext,
        arguments: Arguments,
    ) -> Result<HistoryRecord, Failure> {
        let Arguments { from, to } = arguments;
        let past = trust::history(&context.reading()?, context.store.merchant, from, to).await?;
        Ok(HistoryRecord::of(&context.store, &past))
    }
}
