//! What follows from new scores: the standing of the stores, and who is notified. All in the transaction that appends them.

use std::collections::HashMap;

use database::Work;
use merchants::{NoticeKind, SUSPENSION_THRESHOLD, Standing, StandingChange};
use primitives::MerchantId;
use serde_json::{Value, json};
use webhooks::{TrustReason, TrustScoreChanged, WebhookEvent};

use crate::alert::CHANGE_MAX;
use crate::reason::Reason;
use crate::recompute::Scored;
use crate::table::score::Appended;
use crate::{Alert, TrustError, table};

/// How often the effects of scores occurred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    pub(crate) suspended: u64,
    pub(crate) reinstated: u64,
    pub(crate) alerts: u64,
}

/// Sets the standings that follow from the newest scores of stores, and notifies merchants of what changed.
pub(crate) async fn apply(
    work: &mut Work,
    scored: &[Scored],
    appended: &[Appended],
) -> Result<Effects, TrustError> {
    let of_store: HashMap<MerchantId, &Scored> =
        scored.iter().map(|scored| (scored.merchant, scored)).collect();
    let revisions: HashMap<MerchantId, i32> =
        appended.iter().map(|it| (it.merchant, it.revision)).collect();
    let computed_at = work.now();
    let standing = |one: &Appended| {
        let computation = &of_store.get(&one.merchant)?.computation;
        let (score, provisional) = (computation.trust_score(), computation.provisional);
        Some((one.merchant, Standing { score, provisional, computed_at }))
    };
    let standings: Vec<(MerchantId, Standing)> = appended.iter().filter_map(standing).collect();
    let mut effects = Effects::default();
    for change in merchants::set_standings(work, &standings).await? {
        let Some(scored) = of_store.get(&change.merchant) else { continue };
        let revision = revisions.get(&change.merchant).copied().unwrap_or_default();
        notify(work, scored, &change, &mut effects).await?;
        if let Some(alert) = alert(scored, revision, &change) {
            effects.alerts += 1;
            table::alert::insert(work, &alert).await?;
        }
    }
    Ok(effects)
}

/// Posts a notice of a suspension or its end, and publishes the event of another band.
async fn notify(
    work: &mut Work,
    scored: &Scored,
    change: &StandingChange,
    effects: &mut Effects,
) -> Result<(), TrustError> {
    let (former, standing) = (change.former, change.standing);
    let was_suspended = former.is_some_and(|former| former.is_suspended());
    let is_suspended = standing.is_suspended();
    let former_band = former.and_then(|former| former.band());
    if (was_suspended, former_band) == (is_suspended, standing.band()) {
        return Ok(());
    }
    let reasons = scored.reasons();
    // Nobody is told in which minute of the next epoch.
    let ends = standing.suspension_end(scored.computation.epoch.next().end());
    match (was_suspended, is_suspended) {
        (false, true) => {
            effects.suspended += 1;
            let details = json!({
                "score": standing.score,
                "threshold": SUSPENSION_THRESHOLD,
                "reasons": reason_details(&reasons),
                "ends": ends,
            });
            let kind = NoticeKind::TrustSuspended;
            merchants::post_notice(work, scored.merchant, kind, details).await?;
        }
        (true, false) => {
            effects.reinstated += 1;
            let details = json!({
                "score": standing.score,
                "threshold": SUSPENSION_THRESHOLD,
                "reasons": reason_details(&reasons),
            });
            let kind = NoticeKind::TrustReinstated;
            merchants::post_notice(work, scored.merchant, kind, details).await?;
        }
        _ => {}
    }
    let event = WebhookEvent::TrustScoreChanged(TrustScoreChanged {
        merchant: scored.merchant,
        slug: scored.slug.clone(),
        score: standing.score,
        previous_score: former.and_then(|former| former.score),
        band: standing.band().map(merchants::Band::as_str),
        previous_band: former_band.map(merchants::Band::as_str),
        provisional: standing.provisional,
        suspended: is_suspended,
        previously_suspended: was_suspended,
        methodology_version: scored.computation.methodology.as_str(),
        reasons: reasons.iter().map(payload).collect(),
        suspension_threshold: SUSPENSION_THRESHOLD,
        ends,
    });
    webhooks::publish(work, scored.merchant, &event).await?;
    Ok(())
}

fn reason_details(reasons: &[Reason]) -> Vec<Value> {
    let details = |reason: &Reason| {
        let Reason { name, value, points_lost, remedy } = reason;
        json!({ "component": name, "value": value, "points_lost": points_lost, "remedy": remedy })
    };
    reasons.iter().map(details).collect()
}

fn payload(reason: &Reason) -> TrustReason {
    let Reason { name: component, value, points_lost, remedy } = *reason;
    TrustReason { component, value, points_lost, remedy }
}

/// Returns the alert of a score that rose or fell unusually fast.
fn alert(scored: &Scored, revision: i32, change: &StandingChange) -> Option<Alert> {
    let former_score = change.former.and_then(|former| former.score)?;
    let score = change.standing.score?;
    ((score - former_score).abs() > CHANGE_MAX).then(|| Alert {
        merchant: scored.merchant,
        slug: scored.slug.clone(),
        epoch: scored.computation.epoch,
        revision,
        former_score,
        score,
        created_at: change.standing.computed_at,
    })
}
