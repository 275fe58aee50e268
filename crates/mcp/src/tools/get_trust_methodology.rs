//! `get_trust_methodology`: how scores are computed and results ranked.

use primitives::Failure;
use schemars::JsonSchema;
use search::Ranking;
use serde::{Deserialize, Serialize};
use trust::Methodology;

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetTrustMethodology;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// How scores are computed.
    #[serde(flatten)]
    methodology: Methodology,
    /// How search results are ranked.
    ranking: Ranking,
}

impl Tool for GetTrustMethodology {
    const NAME: &'static str = "get_trust_methodology";
    const TITLE: &'static str = "Trust methodology";
    const PURPOSE: &'static str = "Get the rules by which every store's trust score and label are computed and search results are ranked. For this store's own score, use get_trust_score.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(_: &RequestContext, Arguments {}: Arguments) -> Result<Output, Failure> {
        Ok(Output { methodology: Methodology::default(), ranking: Ranking::default() })
    }
}
