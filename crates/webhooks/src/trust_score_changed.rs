//! The payload of `trust.score_changed` (docs/contract/webhooks.md#trust-score-changed).

use merchants::SuspensionEnd;
use primitives::{EventId, MerchantId, Timestamp};
use serde::Serialize;

use crate::EventKind;

/// The trust band of a store changed, or its trust score suspended or reinstated it.
#[derive(Debug, Clone)]
pub struct TrustScoreChanged {
    pub merchant: MerchantId,
    /// The slug of the store.
    pub slug: String,
    /// The score in force, 0 to 1; `None` for an unscored store.
    pub score: Option<f64>,
    pub previous_score: Option<f64>,
    /// The label of the score.
    pub band: Option<&'static str>,
    pub previous_band: Option<&'static str>,
    pub provisional: bool,
    /// Whether the score suspends the store.
    pub suspended: bool,
    pub previously_suspended: bool,
    /// The version of the methodology in force.
    pub methodology_version: &'static str,
    /// What the score lacks of 1, the largest part first.
    pub reasons: Vec<TrustReason>,
    /// The score at which a suspension ends.
    pub suspension_threshold: f64,
    /// What would end the suspension; `None` unless the store is suspended.
    pub ends: Option<SuspensionEnd>,
}

/// What a component costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustReason {
    pub component: &'static str,
    /// The value of the component, 0 to 1.
    pub value: f64,
    /// What the score would gain with the value 1.
    pub points_lost: f64,
    /// What improves the value.
    pub remedy: &'static str,
}

impl TrustScoreChanged {
    pub(crate) fn body(
        &self,
        event: EventKind,
        id: EventId,
        at: Timestamp,
    ) -> serde_json::Result<String> {
        serde_json::to_string(&Body {
            event,
            id,
            timestamp: at,
            merchant_slug: &self.slug,
            score: self.score,
            previous_score: self.previous_score,
            band: self.band,
            previous_band: self.previous_band,
            provisional: self.provisional,
            suspended: self.suspended,
            previously_suspended: self.previously_suspended,
            methodology_version: self.methodology_version,
            suspension_threshold: self.suspension_threshold,
            ends: self.ends.map(Ends::from),
            reasons: &self.reasons,
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'event> {
    event: EventKind,
    id: EventId,
    timestamp: Timestamp,
    merchant_slug: &'event str,
    score: Option<f64>,
    previous_score: Option<f64>,
    band: Option<&'static str>,
    previous_band: Option<&'static str>,
    provisional: bool,
    suspended: bool,
    previously_suspended: bool,
    methodology_version: &'static str,
    suspension_threshold: f64,
    ends: Option<Ends>,
    reasons: &'event [TrustReason],
}

/// A [`SuspensionEnd`] with names as in events.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Ends {
    when: &'static str,
    points_missing: f64,
    next_computation_at: Timestamp,
}

impl From<SuspensionEnd> for Ends {
    fn from(end: SuspensionEnd) -> Self {
        let SuspensionEnd { when, points_missing, next_computation_at } = end;
        Self { when, points_missing, next_computation_at }
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;

    use super::*;
    use crate::WebhookEvent;

    const AT: i64 = 1_800_000_000_000_000;

    fn changed(score: f64, next_computation_at: Timestamp) -> TrustScoreChanged {
        let computed_at = Timestamp::from_unix_micros(AT);
        let standing = merchants::Standing { score: Some(score), provisional: true, computed_at };
        TrustScoreChanged {
            merchant: MerchantId::from_random(1),
            slug: String::from("attic"),
            score: Some(score),
            previous_score: None,
            band: Some("RESTRICTED"),
            previous_band: None,
            provisional: true,
            suspended: standing.is_suspended(),
            previously_suspended: false,
            methodology_version: "2.0",
            reasons: vec![TrustReason {
                component: "availability_accuracy",
                value: 0.1,
                points_lost: 0.25,
                remedy: "ship what is ordered",
            }],
            suspension_threshold: 0.2,
            ends: standing.suspension_end(next_computation_at),
        }
    }

    fn body(event: &WebhookEvent) -> serde_json::Value {
        let body = event.body(EventId::from_random(3), Timestamp::from_unix_micros(AT)).unwrap();
        serde_json::from_str(&body).unwrap()
    }

    #[test]
    fn trust_score_changed_has_the_documented_payload() {
        let next_at: Timestamp = "2027-01-15T18:00:00Z".parse().unwrap();
        let event = WebhookEvent::TrustScoreChanged(changed(0.19, next_at));
        let body = body(&event);
        assert_eq!(body["event"], "trust.score_changed");
        assert_eq!((&body["score"], &body["suspended"]), (&0.19.into(), &true.into()));
        assert!(body["previousScore"].is_null() && body["previousBand"].is_null());
        assert_eq!(body["reasons"][0]["pointsLost"], 0.25);
        assert_eq!((&body["merchantSlug"], &body["band"]), (&"attic".into(), &"RESTRICTED".into()));
        assert_eq!(event.subject(), MerchantId::from_random(1).uuid());
        let ends = &body["ends"];
        assert!(ends["when"].as_str().unwrap().contains("0.20"), "{ends}");
        assert_eq!((&ends["pointsMissing"], ends.as_object().unwrap().len()), (&0.01.into(), 3));
        assert_eq!(ends["nextComputationAt"], "2027-01-15T18:00:00Z");
    }

    #[test]
    fn only_a_suspended_store_is_told_what_would_end_it() {
        let next_at = Timestamp::from_unix_micros(AT);
        let body = body(&WebhookEvent::TrustScoreChanged(changed(0.2, next_at)));
        assert_eq!((&body["suspended"], &body["ends"]), (&false.into(), &serde_json::Value::Null));
    }
}
