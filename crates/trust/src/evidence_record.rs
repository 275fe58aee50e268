//! The exported form of a score with its evidence (docs/contract/trust.md#evidence).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Serialize;
use uuid::Uuid;

use crate::{
    AccountRef, AgentDay, Computation, Computed, Day, Epoch, Evidence, METHODOLOGY_VERSION,
};

/// A score by methodology 2.0 with the evidence it is computed from: one line of an export.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EvidenceRecord {
    /// Store slug.
    pub merchant_slug: String,
    /// Version of the methodology by which the evidence is scored, also while another one is in force.
    pub methodology_version: &'static str,
    /// Period of six hours that the score belongs to, numbered since 1970.
    pub epoch: Epoch,
    /// Revision of the stored score in its epoch; omitted if there is no stored score with evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i32>,
    /// The stored score by methodology 2.0, 0 to 1; null if the store was unscored, or if there is none.
    pub stored_score: Option<f64>,
    /// SHA-256 of the evidence from which the stored score was computed, in hexadecimal; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_hash: Option<String>,
    /// Whether the evidence here has this hash, and `score` is the stored score. False if facts of days that counted have changed
    /// since then, for example because the merchant canceled an order: `score` then follows from them as they are now, as the
    /// next stored score will.
    pub is_unchanged: bool,
    /// Score by methodology 2.0 from the evidence here, 0 to 1; null if the store is unscored.
    pub score: Option<f64>,
    /// Whether the score is provisional.
    pub provisional: bool,
    /// Values of the components that apply, by name.
    pub components: BTreeMap<&'static str, f64>,
    /// Send it as `cursor` for the next rows of `evidence.days`; omitted with the last rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Everything the score is computed from.
    pub evidence: Evidence,
}

impl EvidenceRecord {
    /// Returns the record of evidence and the score that follows from it, without a stored score.
    #[must_use]
    pub fn of(merchant_slug: String, evidence: Evidence, computed: &Computed) -> Self {
        let values = computed.values().into_iter();
        Self {
            merchant_slug,
            methodology_version: METHODOLOGY_VERSION,
            epoch: evidence.epoch,
            revision: None,
            stored_score: None,
            evidence_hash: None,
            is_unchanged: false,
            score: computed.score,
            provisional: computed.provisional,
            components: values.map(|(component, value)| (component.as_str(), value)).collect(),
            next_cursor: None,
            evidence,
        }
    }

    /// Adds the stored score. `hash` is that of the evidence here.
    pub(crate) fn compared(self, stored: &Computation, hash: &[u8]) -> Self {
        Self {
            revision: Some(stored.revision),
            stored_score: stored.score,
            evidence_hash: stored.evidence_hash.as_ref().map(hex::encode),
            // Evidence with this hash has another score only if another version of Souk computed that one.
            is_unchanged: stored.evidence_hash.as_deref() == Some(hash)
                && stored.score.map(f64::to_bits) == self.score.map(f64::to_bits),
            ..self
        }
    }

    /// Returns the record with the next rows of days after a position, at most `limit`. Everything else is that of all rows.
    #[must_use]
    pub fn page(mut self, after: Option<DayCursor>, limit: usize) -> Self {
        let days = &mut self.evidence.days;
        if let Some(after) = after {
            let first = days.partition_point(|row| DayCursor::of(row) <= after);
            days.drain(..first);
        }
        let has_more = days.len() > limit;
        days.truncate(limit);
        let last = days.last().filter(|_| has_more);
        self.next_cursor = last.map(|last| DayCursor::of(last).to_string());
        self
    }
}

/// The position of a row in the days of evidence, which are sorted by account and day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DayCursor {
    account: AccountRef,
    day: Day,
}

impl DayCursor {
    fn of(row: &AgentDay) -> Self {
        Self { account: row.account, day: row.day }
    }
}

impl fmt::Display for DayCursor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.account, self.day.0)
    }
}

/// The text is not the position of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in the days of evidence")]
pub struct InvalidDayCursor;

impl FromStr for DayCursor {
    type Err = InvalidDayCursor;

    fn from_str(text: &str) -> Result<Self, InvalidDayCursor> {
        let (account, day) = text.split_once('.').ok_or(InvalidDayCursor)?;
        let account = Uuid::try_parse(account).map_err(|_| InvalidDayCursor)?;
        let day = day.parse().map_err(|_| InvalidDayCursor)?;
        Ok(Self { account: AccountRef(account), day: Day(day) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DayCounts, evidence_hash, score};

    fn record(rows: u8) -> EvidenceRecord {
        let row = |number: u8| AgentDay {
            day: Day(20_700 + i32::from(number % 3)),
            account: AccountRef(Uuid::from_u128(u128::from(number / 3))),
            counts: DayCounts { started: 1, ..DayCounts::default() },
        };
        let days = (0..rows).map(row).collect();
        let evidence = Evidence { epoch: Epoch(83_090), days, ..Evidence::default() };
        let computed = score(&evidence);
        EvidenceRecord::of(String::from("attic"), evidence, &computed)
    }

    #[test]
    fn pages_have_all_rows_once() {
        for limit in [1, 3, 4, 7, 8] {
            let (mut rows, mut after, mut pages) = (Vec::new(), None, 0);
            loop {
                let page = record(7).page(after, limit);
                rows.extend(page.evidence.days);
                pages += 1;
                let Some(next) = page.next_cursor else { break };
                after = Some(next.parse().unwrap());
            }
            assert_eq!(rows, record(7).evidence.days, "{limit}");
            assert_eq!(pages, 7_usize.div_ceil(limit), "{limit}");
        }
        assert_eq!(record(0).page(None, 5).next_cursor, None);
    }

    #[test]
    fn a_cursor_is_an_account_and_a_day() {
        for text in ["", "abc", "00000000000000000000000000000abc", "1.2", "x.20700"] {
            assert_eq!(text.parse::<DayCursor>(), Err(InvalidDayCursor), "{text}");
        }
        let text = "00000000000000000000000000000abc.20700";
        assert_eq!(text.parse::<DayCursor>().unwrap().to_string(), text);
    }

    #[test]
    fn a_record_says_whether_its_evidence_is_that_of_the_stored_score() {
        let mut of_products = record(2);
        of_products.evidence.state.products = 1;
        let evidence = of_products.evidence;
        let computed = score(&evidence);
        let record = |evidence: &Evidence| {
            EvidenceRecord::of(String::from("attic"), evidence.clone(), &score(evidence))
        };
        let hash = evidence_hash(&evidence).unwrap();
        let stored = Computation {
            epoch: Epoch(83_090),
            revision: 3,
            computed_at: Epoch(83_090).as_of(),
            methodology: crate::MethodologyVersion::V20,
            score: computed.score,
            provisional: true,
            basis: crate::Basis::Computed,
            cause: crate::Cause::Scheduled,
            components: BTreeMap::new(),
            figures: BTreeMap::new(),
            shadow: None,
            evidence_hash: Some(hash.clone()),
        };
        let same = record(&evidence).compared(&stored, &hash);
        assert!(same.is_unchanged && same.score.is_some());
        assert_eq!((same.revision, same.stored_score), (Some(3), same.score));
        assert_eq!(same.evidence_hash, Some(hex::encode(&hash)));
        let other = Evidence { delivered_total: 1, ..evidence.clone() };
        let changed = record(&other).compared(&stored, &evidence_hash(&other).unwrap());
        assert!(!changed.is_unchanged && changed.evidence_hash == same.evidence_hash);
        let alone = record(&evidence);
        assert_eq!((alone.revision, alone.is_unchanged), (None, false));
        // Computed by a version whose methodology differs.
        for score in [Some(0.5), None] {
            let differs = Computation { score, ..stored.clone() };
            assert!(!record(&evidence).compared(&differs, &hash).is_unchanged, "{score:?}");
        }
    }
}
