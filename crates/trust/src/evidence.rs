//! The evidence behind a score: everything a computation reads, and nothing else. It has no floating-point numbers, so that
//! exported evidence is exact (docs/contract/trust.md#evidence).

mod epoch;

use std::borrow::Cow;
use std::fmt;

use primitives::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub(crate) use epoch::{
    COUNTED_AFTER_SECONDS, EPOCH_SECONDS, MATURITY_DAYS, PHASE_STEPS, SETTLING_STEPS,
    STEPS_PER_DAY, WINDOW_DAYS,
};
pub use epoch::{Day, Epoch, matured_quarters, quarters};

use crate::Fact;
use crate::v41::V41Figures;

/// Checkouts of one account at a store on one day that are looked at: the first ones. A day of an account is one unit, however
/// many it has.
pub(crate) const STARTS_MAX: i64 = 500;
/// Delivered orders of one account that count for how many a store has delivered.
pub(crate) const ACCOUNT_DELIVERED_MAX: i64 = 5;

/// Everything from which the score of a merchant at one epoch follows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Epoch of the score.
    pub epoch: Epoch,
    /// Figures of the store at the time of the computation.
    pub state: StateFigures,
    /// One row for each account and day with facts, sorted by account and day. Rows of days that do not count are ignored.
    pub days: Vec<AgentDay>,
    /// Orders that were delivered until the end of the last day that counts, at most five of each account.
    pub delivered_total: i64,
    /// What only methodology 4.1.0 reads.
    #[serde(default)]
    pub v41: V41Figures,
}

impl Evidence {
    /// Returns the rows in the order in which they are summed: the sum of floating-point numbers depends on it.
    pub(crate) fn sorted_days(&self) -> Cow<'_, [AgentDay]> {
        let key = |row: &AgentDay| (row.account, row.day, row.counts);
        if self.days.is_sorted_by_key(key) {
            return Cow::Borrowed(&self.days);
        }
        let mut sorted = self.days.clone();
        sorted.sort_unstable_by_key(key);
        Cow::Owned(sorted)
    }
}

/// Figures of the store at the time of the computation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateFigures {
    /// Listed products.
    pub products: i64,
    /// Listed products with a title, price, image and GTIN.
    pub complete: i64,
    /// Listed products without a contradiction in themselves or with another product.
    pub consistent: i64,
    /// Time of the last complete synchronization, or the time since which 95 % of the listed products were pushed, whichever
    /// is later. Null: neither happened.
    pub synced_at: Option<Timestamp>,
    /// Required policies that are set.
    pub policies: PolicyFigures,
    /// Listed products with a rating.
    pub rated_products: i64,
    /// Sum of their ratings of 0 to 5, in hundredths.
    pub rating_sum_hundredths: i64,
    /// Calls to the merchant's own systems in the last seven days.
    #[serde(default)]
    pub latency: LatencyHistogram,
}

/// Required policies that are set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyFigures {
    /// Whether the number of days for returns is set.
    pub returns: bool,
    /// Whether the days of shipping are set.
    pub shipping: bool,
    /// Whether the address of the privacy policy is set.
    pub privacy: bool,
}

/// Durations of calls, counted by bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct LatencyHistogram {
    pub buckets: Vec<LatencyBucket>,
}

/// Calls that took at most `up_to_ms`, and more than the next smaller bound.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct LatencyBucket {
    /// Upper bound of the durations, in milliseconds.
    pub up_to_ms: u32,
    /// Number of calls.
    pub calls: u32,
}

impl LatencyHistogram {
    /// Returns the number of calls.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.buckets.iter().map(|bucket| u64::from(bucket.calls)).sum()
    }

    /// Returns the smallest bound that at least `percent` of the calls did not exceed; `None` without calls.
    #[must_use]
    pub fn percentile_ms(&self, percent: u32) -> Option<u32> {
        let needed = u128::from(self.total()) * u128::from(percent);
        let mut buckets = self.buckets.clone();
        buckets.sort_unstable();
        let mut calls = 0_u128;
        for bucket in buckets {
            calls += u128::from(bucket.calls);
            if calls > 0 && calls * 100 >= needed {
                return Some(bucket.up_to_ms);
            }
        }
        None
    }
}

/// Facts of one account at one store on one day.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct AgentDay {
    /// Day in UTC.
    pub day: Day,
    /// The account that owns the agent keys.
    pub account: AccountRef,
    /// Number of facts by kind.
    pub counts: DayCounts,
}

/// Number of facts of one account on one day. [`Fact`] describes each.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(default)]
pub struct DayCounts {
    pub started: u32,
    pub completed: u32,
    pub lasting: u32,
    pub kept: u32,
    pub orders: u32,
    pub in_stock: u32,
    pub out_of_stock: u32,
    pub on_time: u32,
    pub late: u32,
    pub delivered: u32,
    pub price_equal: u32,
    pub price_different: u32,
    pub disputes_lost: u32,
    /// Total of the orders in the store's currency, canceled ones included, in minor units. No component of methodology 2.0
    /// reads it.
    pub amount_minor: i64,
}

impl DayCounts {
    /// Returns the number of facts of this kind.
    #[must_use]
    pub const fn of(&self, fact: Fact) -> u32 {
        match fact {
            Fact::Started => self.started,
            Fact::Completed => self.completed,
            Fact::Lasting => self.lasting,
            Fact::Kept => self.kept,
            Fact::Orders => self.orders,
            Fact::InStock => self.in_stock,
            Fact::OutOfStock => self.out_of_stock,
            Fact::OnTime => self.on_time,
            Fact::Late => self.late,
            Fact::Delivered => self.delivered,
            Fact::PriceEqual => self.price_equal,
            Fact::PriceDifferent => self.price_different,
            Fact::DisputesLost => self.disputes_lost,
        }
    }
}

/// An account that owns agent keys, as evidence names it.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountRef(pub Uuid);

impl fmt::Display for AccountRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.0.simple())
    }
}

impl fmt::Debug for AccountRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl Serialize for AccountRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AccountRef {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'_, str>>::deserialize(deserializer)?;
        Uuid::try_parse(&text).map(Self).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for AccountRef {
    fn schema_name() -> Cow<'static, str> {
        "AccountRef".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "pattern": "^[0-9a-f]{32}$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(account: u128, day: i32, started: u32) -> AgentDay {
        AgentDay {
            day: Day(day),
            account: AccountRef(Uuid::from_u128(account)),
            counts: DayCounts { started, ..DayCounts::default() },
        }
    }

    #[test]
    fn evidence_round_trips_through_json() {
        let mut evidence = Evidence { epoch: Epoch(83_090), ..Evidence::default() };
        evidence.state.synced_at = Some(Timestamp::from_unix_micros(1_794_729_600_123_456));
        evidence.state.latency.buckets = vec![LatencyBucket { up_to_ms: 200, calls: 7 }];
        evidence.days = vec![row(1, 20_772, 3)];
        let json = serde_json::to_value(&evidence).unwrap();
        assert_eq!(json["days"][0]["day"], "2026-11-15");
        assert_eq!(json["days"][0]["account"], "00000000000000000000000000000001");
        assert_eq!(json["days"][0]["counts"]["started"], 3);
        assert_eq!(json["state"]["latency"][0]["up_to_ms"], 200);
        assert_eq!(json["state"]["synced_at"], "2026-11-15T08:00:00.123456Z");
        assert_eq!(serde_json::from_value::<Evidence>(json).unwrap(), evidence);
    }

    #[test]
    fn rows_are_summed_in_the_order_of_account_and_day() {
        let sorted = vec![row(1, 5, 1), row(1, 6, 1), row(2, 4, 1)];
        let mut evidence = Evidence { days: sorted.clone(), ..Evidence::default() };
        assert!(matches!(evidence.sorted_days(), Cow::Borrowed(rows) if rows == sorted));
        evidence.days.reverse();
        assert_eq!(evidence.sorted_days().into_owned(), sorted);
    }

    #[test]
    fn a_percentile_is_the_bound_that_enough_calls_did_not_exceed() {
        let p95 = |calls: &[(u32, u32)]| {
            let bucket = |&(up_to_ms, calls): &(u32, u32)| LatencyBucket { up_to_ms, calls };
            LatencyHistogram { buckets: calls.iter().map(bucket).collect() }.percentile_ms(95)
        };
        assert_eq!(p95(&[]), None);
        assert_eq!(p95(&[(200, 0)]), None);
        assert_eq!(p95(&[(2_000, 5), (100, 95)]), Some(100));
        assert_eq!(p95(&[(100, 94), (400, 1), (2_000, 5)]), Some(400));
        assert_eq!(p95(&[(100, 0), (400, 1)]), Some(400));
    }
}
