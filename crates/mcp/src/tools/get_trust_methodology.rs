//! `get_trust_methodology`: how scores are computed and results ranked.

use std::collections::BTreeMap;

use primitives::Failure;
use schemars::JsonSchema;
use search::Ranking;
use serde::{Deserialize, Serialize};
use trust::{
    ComponentRule, ComponentSource, DisputeProcess, DormantMethodology, EpochRule, FactRule,
    MeasureRule, Methodology, MethodologyVersion, NormalizationRule, Party, ProvisionalRule,
    ScoringRule, Threshold, UnitsRule, WindowRule,
};

use crate::request_context::RequestContext;
use crate::tool::{Access, Confirmation, Tool, ToolSet};

pub(super) struct GetTrustMethodology;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// True: also how each value follows from its evidence, and methodology 4.1.0. Default false.
    full: Option<bool>,
}

/// The document of `GET /trust/methodology`. What is omitted by default is optional.
#[derive(Serialize, JsonSchema)]
pub(super) struct Output {
    /// Version of the methodology of this document; 4.1.0 is in force instead while `v41_methodology.status` is `active`.
    version: &'static str,
    /// Date of the last change.
    last_updated: &'static str,
    /// How often scores are recomputed.
    update_cadence: &'static str,
    /// Whether scores are recomputed at this cadence.
    scores_computed: bool,
    /// Stores with a score below this are suspended from agent discovery.
    suspension_threshold: f64,
    /// Stores with a score below this do not accept agent checkout.
    agent_threshold: f64,
    /// How component values are combined into a score.
    formula: &'static str,
    /// Components of a score, by name.
    components: BTreeMap<&'static str, ComponentOutput>,
    /// How the values of the components become a score.
    scoring: ScoringOutput,
    /// When a score is provisional, and what follows.
    provisional: ProvisionalRule,
    /// Labels with the minimum score of each.
    thresholds: Vec<Threshold>,
    /// Rules that prevent manipulation of scores.
    anti_manipulation: Vec<&'static str>,
    /// How a merchant disputes a score.
    dispute_process: DisputeProcess,
    /// When scores are computed.
    epochs: Option<EpochRule>,
    /// Which days count, and how far.
    window: Option<WindowRule>,
    /// How facts of accounts become a share.
    units: Option<UnitsRule>,
    /// Kinds of facts.
    facts: Option<BTreeMap<&'static str, FactRule>>,
    /// An alternative methodology; present with `full`, and while it is in force.
    v41_methodology: Option<DormantMethodology>,
    /// How search results are ranked.
    ranking: Ranking,
}

/// How values become a score.
#[derive(Serialize, JsonSchema)]
struct ScoringOutput {
    /// The formula.
    rule: &'static str,
    /// What happens to the weight of a component without data, or with little.
    redistribution: &'static str,
    /// When a store has no score.
    unscored: &'static str,
    /// Decimals that a score is rounded to.
    decimals: i32,
    /// How the number of a component is measured, by the kind of its `measure`.
    measures: Option<BTreeMap<&'static str, &'static str>>,
    /// What the names of fields in a `measure` mean.
    fields: Option<&'static str>,
    /// How the number of a component becomes its value.
    normalization: Option<&'static str>,
}

impl ScoringOutput {
    fn of(rule: ScoringRule, is_full: bool) -> Self {
        let ScoringRule {
            rule,
            redistribution,
            unscored,
            decimals,
            measures,
            fields,
            normalization,
        } = rule;
        Self {
            rule,
            redistribution,
            unscored,
            decimals,
            measures: is_full.then_some(measures),
            fields: is_full.then_some(fields),
            normalization: is_full.then_some(normalization),
        }
    }
}

/// A component of a score.
#[derive(Serialize, JsonSchema)]
struct ComponentOutput {
    /// Weight in the score, 0 to 1.
    weight: f64,
    /// Source of the value.
    source: ComponentSource,
    /// What the component measures.
    description: &'static str,
    /// The data behind it.
    evidence: Option<&'static str>,
    /// Whose acts can change the data.
    influenced_by: Option<Vec<Party>>,
    /// The number that is measured.
    measure: Option<MeasureRule>,
    /// How the number becomes a value.
    normalization: Option<NormalizationRule>,
}

impl ComponentOutput {
    fn of(rule: ComponentRule, is_full: bool) -> Self {
        let ComponentRule {
            weight,
            source,
            description,
            evidence,
            influenced_by,
            measure,
            normalization,
        } = rule;
        Self {
            weight,
            source,
            description,
            evidence: is_full.then_some(evidence),
            influenced_by: is_full.then_some(influenced_by),
            measure: is_full.then_some(measure),
            normalization: is_full.then_some(normalization),
        }
    }
}

impl Output {
    fn of(in_force: MethodologyVersion, is_full: bool) -> Self {
        let is_v41 = in_force == MethodologyVersion::V41;
        let document = Methodology::of(is_v41);
        let components = document.components.into_iter();
        let component = |(name, rule)| (name, ComponentOutput::of(rule, is_full));
        Self {
            version: document.version,
            last_updated: document.last_updated,
            update_cadence: document.update_cadence,
            scores_computed: document.scores_computed,
            suspension_threshold: document.suspension_threshold,
            agent_threshold: document.agent_threshold,
            formula: document.formula,
            components: components.map(component).collect(),
            scoring: ScoringOutput::of(document.scoring, is_full),
            provisional: document.provisional,
            thresholds: document.thresholds,
            anti_manipulation: document.anti_manipulation,
            dispute_process: document.dispute_process,
            epochs: is_full.then_some(document.epochs),
            window: is_full.then_some(document.window),
            units: is_full.then_some(document.units),
            facts: is_full.then_some(document.facts),
            v41_methodology: (is_full || is_v41).then_some(document.v41_methodology),
            ranking: Ranking::default(),
        }
    }
}

impl Tool for GetTrustMethodology {
    const NAME: &'static str = "get_trust_methodology";
    const TITLE: &'static str = "Trust methodology";
    const PURPOSE: &'static str = "Get the rules of trust scores, labels and search ranking. For this store's own score, use get_trust_score.";
    const SET: ToolSet = ToolSet::Discovery;
    const ACCESS: Access = Access::Public;
    const CONFIRMATION: Confirmation = Confirmation::Never;
    type Arguments = Arguments;
    type Output = Output;

    async fn call(context: &RequestContext, arguments: Arguments) -> Result<Output, Failure> {
        Ok(Output::of(context.app.trust_methodology, arguments.full.unwrap_or(false)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::tool::remove_nulls;

    fn shown(is_full: bool) -> Value {
        let mut shown = serde_json::to_value(Output::of(MethodologyVersion::V20, is_full)).unwrap();
        remove_nulls(&mut shown);
        shown
    }

    #[test]
    fn everything_is_the_published_document() {
        let mut published = serde_json::to_value(Methodology::default()).unwrap();
        remove_nulls(&mut published);
        let mut all = shown(true);
        assert!(all.as_object_mut().unwrap().remove("ranking").is_some());
        assert_eq!(all, published);
    }

    #[test]
    fn a_default_result_is_short() {
        let short = shown(false);
        assert_eq!(short["components"]["price_accuracy"]["weight"], 0.12);
        assert!(short.get("v41_methodology").is_none() && short.get("units").is_none());
        let (short, full) = (short.to_string().len(), shown(true).to_string().len());
        assert!(short < 8_000 && short * 2 < full, "{short} of {full} bytes");
    }
}
