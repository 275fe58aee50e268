//! `get_trust_history`: past trust scores.

use primitives::{Failure, Timestamp};
use schemars::JsonSchema;
use serde::Deserialize;
use trust::HistoryRecord;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct GetTrustHistory;

/// Scores of a default result, which has at most 1,000 tokens.
const POINTS_DEFAULT: i64 = 15;
const POINTS_MAX: i64 = 400;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Earliest time, RFC 3339.
    from: Option<Timestamp>,
    /// Latest time, RFC 3339.
    to: Option<Timestamp>,
    /// Scores, spread evenly over the period, 1 to 400; default 15.
    limit: Option<i64>,
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
        let Arguments { from, to, limit } = arguments;
        let limit = limit.unwrap_or(POINTS_DEFAULT).clamp(1, POINTS_MAX);
        let limit = u16::try_from(limit).unwrap_or(u16::MAX);
        let (reading, merchant) = (context.reading()?, context.store.merchant);
        let past = trust::thinned_history(&reading, merchant, from, to, limit).await?;
        Ok(HistoryRecord::of(&context.store, &past))
    }
}

#[cfg(test)]
mod tests {
    use merchants::Band;
    use trust::{Basis, Epoch, HistoryPoint};

    use super::*;

    /// The longest points. A public tokenizer counts the result of the demo store (dev/clients/tokens.mjs).
    #[test]
    fn a_default_result_has_at_most_a_thousand_tokens() {
        let point = |number: i64| HistoryPoint {
            as_of: Epoch(83_090 + number).as_of(),
            computed_at: Timestamp::from_unix_micros(1_794_729_600_123_456 + number),
            score: Some(0.312_345_678_901),
            label: Some(Band::Restricted),
            provisional: true,
            epoch: Epoch(83_090 + number),
            revision: 1,
            basis: Basis::Computed,
        };
        let points = (0..POINTS_DEFAULT).map(point).collect();
        let record = HistoryRecord { merchant_slug: "a".repeat(63), points };
        let bytes = serde_json::to_string(&record).unwrap().len();
        assert!(bytes / 3 <= 1_000, "{bytes} bytes, of which a token has three at least");
    }
}
