//! `response_latency`: the 95th percentile of the duration of calls to the merchant's own systems.

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use crate::{Evidence, Figure, Party, Sample};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 5,
    source: ComponentSource::Verified,
    description: "API p95 latency score: 1.0 below 200 ms, 0.0 above 2000 ms",
    evidence: "durations of calls to the merchant's own systems; time spent in Souk does not count. No calls are measured yet: the \
               component is not applicable",
    influenced_by: &[Party::Merchant],
    measure: Measure::Percentile {
        histogram: "latency",
        percent: PERCENT,
        calls_min: CALLS_MIN,
        window_days: 7,
    },
    normalization: Normalization { zero_at: 2_000.0, one_at: 200.0 },
};

const PERCENT: u32 = 95;
const CALLS_MIN: u32 = 50;

/// Returns the figure; `None` below the minimum number of calls.
pub(super) fn figure(evidence: &Evidence) -> Option<Figure> {
    let latency = &evidence.state.latency;
    let calls = latency.total();
    if calls < u64::from(CALLS_MIN) {
        return None;
    }
    let measured = f64::from(latency.percentile_ms(PERCENT)?);
    let sample = Sample { good: calls, ..Sample::of(measured) };
    Some(Figure::certain(RULE.normalization.value(measured), sample))
}
