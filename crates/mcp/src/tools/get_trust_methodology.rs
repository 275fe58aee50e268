//! `get_trust_methodology`: how scores and the order of results come about.

use primitives::Failure;
use schemars::JsonSchema;
use search::Ranking;
use serde::{Deserialize, Serialize};
use trust::Methodology;

use crate::call::Call;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetTrustMethodology;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// How scores come about.
    #[serde(flatten)]
    methodology: Methodology,
    /// How search orders results.
    ranking: Ranking,
}

impl Tool for GetTrustMethodology {
    const NAME: &'static str = "get_trust_methodology";
    const TITLE: &'static str = "Trust methodology";
    const PURPOSE: &'static str = "Read how trust scores are computed, what each label means, and how search results are ranked.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    const PER_MINUTE: u32 = 60; // decisions §6
    type Arguments = Arguments;
    type Output = Output;

    async fn call(_: &Call<'_>, Arguments {}: Arguments) -> Result<Output, Failure> {
        Ok(Output { methodology: Methodology::default(), ranking: Ranking::default() })
    }
}
