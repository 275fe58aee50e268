//! Signals: what the dimensions are computed from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::data_quality::DataQuality;
use super::dimension::Dimension;
use super::window::Window;
use super::{agent_signals, readiness_signals, reliability_signals};

primitives::text_enum! {
    /// A signal, in the order of publication.
    #[derive(JsonSchema)]
    #[schemars(rename_all = "camelCase")]
    #[strum(serialize_all = "camelCase")]
    pub enum Signal {
        FulfillmentPerformance,
        DisputeAndRefundHealth,
        OrderCompletionHealth,
        CatalogOperationalQuality,
        StoreAgeConfidence,
        HumanOrderVolumeConfidence,
        SetupQuality,
        ProtocolSecurity,
        ComplianceHealth,
        IntegrationFreshness,
        AgentCheckoutSuccessRate,
        AgentFulfillmentOnTimeRate,
        AgentDisputeRefundHealth,
        ReceiptIntegrity,
        AgentLatencyAndToolReliability,
        RepeatAgentSuccess,
    }
}

/// A signal of a store.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignalScore {
    /// Name of the signal.
    pub signal: Signal,
    /// 0 to 100; null if the signal does not apply.
    pub value: Option<f64>,
    /// Published weight within the dimension, 0 to 1.
    pub weight: f64,
    /// Quality of the data behind the value.
    pub data_quality: DataQuality,
}

/// How a signal is computed, and what the methodology publishes about it.
pub(super) struct Definition {
    pub(super) dimension: Dimension,
    /// In hundredths of the dimension, so that the sum is exact.
    pub(super) weight_hundredths: u8,
    /// The level of its values.
    pub(super) data_quality: DataQuality,
    /// Whether Souk has a source for it. Without one it never applies.
    pub(super) has_source: bool,
    pub(super) rule: &'static str,
    /// Returns a value from 0 to 1, or `None` without data.
    pub(super) value: fn(&Window<'_>) -> Option<f64>,
}

impl Signal {
    pub(super) const fn definition(self) -> &'static Definition {
        match self {
            Self::FulfillmentPerformance => &reliability_signals::FULFILLMENT_PERFORMANCE,
            Self::DisputeAndRefundHealth => &reliability_signals::DISPUTE_AND_REFUND_HEALTH,
            Self::OrderCompletionHealth => &reliability_signals::ORDER_COMPLETION_HEALTH,
            Self::CatalogOperationalQuality => &reliability_signals::CATALOG_OPERATIONAL_QUALITY,
            Self::StoreAgeConfidence => &reliability_signals::STORE_AGE_CONFIDENCE,
            Self::HumanOrderVolumeConfidence => &reliability_signals::HUMAN_ORDER_VOLUME_CONFIDENCE,
            Self::SetupQuality => &readiness_signals::SETUP_QUALITY,
            Self::ProtocolSecurity => &readiness_signals::PROTOCOL_SECURITY,
            Self::ComplianceHealth => &readiness_signals::COMPLIANCE_HEALTH,
            Self::IntegrationFreshness => &readiness_signals::INTEGRATION_FRESHNESS,
            Self::AgentCheckoutSuccessRate => &agent_signals::AGENT_CHECKOUT_SUCCESS_RATE,
            Self::AgentFulfillmentOnTimeRate => &agent_signals::AGENT_FULFILLMENT_ON_TIME_RATE,
            Self::AgentDisputeRefundHealth => &agent_signals::AGENT_DISPUTE_REFUND_HEALTH,
            Self::ReceiptIntegrity => &agent_signals::RECEIPT_INTEGRITY,
            Self::AgentLatencyAndToolReliability => {
                &agent_signals::AGENT_LATENCY_AND_TOOL_RELIABILITY
            }
            Self::RepeatAgentSuccess => &agent_signals::REPEAT_AGENT_SUCCESS,
        }
    }

    /// Returns the dimension that the signal belongs to.
    #[must_use]
    pub const fn dimension(self) -> Dimension {
        self.definition().dimension
    }

    /// Returns the weight within the dimension, 0 to 1. The weights of a dimension sum to 1.
    #[must_use]
    pub fn weight(self) -> f64 {
        f64::from(self.definition().weight_hundredths) / 100.0
    }

    /// Computes the signal of a store. Synthetic facts block it; a store that lists no products has nothing to measure.
    pub(super) fn score(self, window: &Window<'_>) -> SignalScore {
        let definition = self.definition();
        let is_synthetic = window.evidence.v41.is_synthetic;
        let is_measurable = !is_synthetic && window.evidence.state.products > 0;
        let value = if is_measurable { (definition.value)(window) } else { None };
        let data_quality = match value {
            Some(_) => definition.data_quality,
            None if is_synthetic => DataQuality::SyntheticBlocked,
            None => DataQuality::NotApplicable,
        };
        let value = value.map(|value| 100.0 * value.clamp(0.0, 1.0));
        SignalScore { signal: self, value, weight: self.weight(), data_quality }
    }
}

/// Returns `part / whole`, or `None` if `whole` is not above 0.
pub(super) fn share(part: i64, whole: i64) -> Option<f64> {
    /// Counts beyond this do not change a share that is rounded to a tenth of a percent.
    fn number(count: i64) -> f64 {
        f64::from(u32::try_from(count.max(0)).unwrap_or(u32::MAX))
    }
    (whole > 0).then(|| number(part) / number(whole))
}
