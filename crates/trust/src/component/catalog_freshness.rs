//! `catalog_freshness`: the age of the last complete synchronization, by a replacement or by pushes
//! (docs/contract/trust.md#catalog-freshness).

use super::ComponentSource;
use super::rule::{Measure, Normalization, Rule};
use crate::{Evidence, Figure, Party, Sample};

pub(super) const RULE: Rule = Rule {
    weight_hundredths: 11,
    source: ComponentSource::Verified,
    description: "age of last successful catalog sync, normalized 0 to 1",
    evidence: "the later of two times: that of the last complete synchronization (a full replacement or a complete run of a \
               connector), and that since which 95 % of the listed products were pushed; a push without changes counts, and is \
               recorded once an hour",
    influenced_by: &[Party::Merchant],
    measure: Measure::AgeHours { time: "synced_at" },
    normalization: Normalization { zero_at: 168.0, one_at: 24.0 },
};

/// Returns the figure. It always applies: a store that was never synchronized has the value 0.
pub(super) fn figure(evidence: &Evidence) -> Figure {
    let Some(synced_at) = evidence.state.synced_at else {
        return Figure::certain(0.0, Sample::default());
    };
    let measured = evidence.epoch.as_of().since(synced_at).as_secs_f64() / SECONDS_PER_HOUR;
    Figure::certain(RULE.normalization.value(measured), Sample::of(measured))
}

const SECONDS_PER_HOUR: f64 = 3_600.0;
