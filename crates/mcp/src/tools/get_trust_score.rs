//! `get_trust_score`: the trust score of the store and its components.

use primitives::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use trust::ScoreRecord;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Stores, Tool, ToolSet};

pub(super) struct GetTrustScore;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

impl Tool for GetTrustScore {
    const NAME: &'static str = "get_trust_score";
    const TITLE: &'static str = "Trust score";
    const PURPOSE: &'static str = "Get this store's trust score (0 to 1), label and component figures, and whether agents may check out here. Check it before buying.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const STORES: Stores = Stores::Any;
    type Arguments = Arguments;
    type Output = ScoreRecord;

    async fn call(
        context: &RequestContext,
        Arguments {}: Arguments,
    ) -> Result<ScoreRecord, Failure> {
        let computation = trust::latest(&context.reading()?, context.store.merchant).await?;
        Ok(ScoreRecord::of(&context.store, computation.as_ref()))
    }
}
