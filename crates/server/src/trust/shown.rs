//! What `souk trust` shows.

use merchants::Band;
use trust::{Alert, Comparison, Failure, MethodologyVersion, TrustCounts, TrustStatus};

/// Lag from which scores are late: an hour.
const LAG_MAX_SECONDS: f64 = 3_600.0;
/// Age of a stale day from which days are late.
const STALE_DAY_MAX_SECONDS: f64 = 600.0;

/// Returns a score with its band.
pub(super) fn scored(score: Option<f64>, band: Option<Band>) -> String {
    match (score, band) {
        (Some(score), Some(band)) => format!("{score:.4} ({band})"),
        _ => String::from("none"),
    }
}

/// Returns how far scores are, and what an operator should do.
pub(super) fn shown(
    status: &TrustStatus,
    in_force: MethodologyVersion,
    failures: &[Failure],
) -> String {
    let counted = |shown: fn(&TrustCounts) -> String| {
        status.counts.as_ref().map_or_else(|| String::from("not counted in time"), shown)
    };
    let methodology = match status.newest_methodology {
        Some(newest) if newest != in_force => format!("{in_force} (newest score: {newest})"),
        _ => in_force.to_string(),
    };
    let (done, due) = (status.slots_done, status.slots_due);
    let rows = [
        ("methodology", methodology),
        ("epoch", format!("{} ({})", status.epoch.0, status.epoch.as_of())),
        ("slots computed", format!("{done} of {due} due, {} in all", TrustStatus::SLOTS)),
        ("late epochs", status.late_epochs.to_string()),
        ("skipped epochs", status.skipped_epochs.to_string()),
        ("lag", format!("{:.0} s", status.lag_seconds)),
        ("stores", counted(|it| it.stores.to_string())),
        ("with a score", counted(|it| format!("{} ({} provisional)", it.scored, it.provisional))),
        ("suspended", counted(|it| it.suspended.to_string())),
        ("older than 12 h", counted(|it| it.old_standings.to_string())),
        ("cannot be scored", status.failing_stores.to_string()),
        (
            "stale days",
            format!("{} (oldest {:.0} s)", status.stale_days, status.oldest_stale_day_seconds),
        ),
        ("failed days", status.failed_days.to_string()),
    ];
    let mut lines: Vec<String> =
        rows.iter().map(|(name, value)| format!("{name:<18}{value}")).collect();
    lines.extend(failures.iter().map(failed));
    lines.extend(advice(status, in_force).into_iter().map(str::to_owned));
    lines.join("\n")
}

fn failed(failure: &Failure) -> String {
    let Failure { slug, stage, failed_at, error, attempts, retry_at, .. } = failure;
    let line = format!("{failed_at}  {slug}  {stage}: {error}");
    match retry_at {
        Some(retry_at) => format!("{line} (failed {attempts} times, again at {retry_at})"),
        None => line,
    }
}

/// Returns what an operator should do, a line for each.
fn advice(status: &TrustStatus, in_force: MethodologyVersion) -> Vec<&'static str> {
    let is_other = status.newest_methodology.is_some_and(|newest| newest != in_force);
    let advice = [
        (
            !status.is_backfilled,
            "Facts of before this version are counted; scores are computed afterwards: start `souk work`.",
        ),
        (
            status.lag_seconds > LAG_MAX_SECONDS,
            "Scores are late: start `souk work`, or see `souk jobs list --state failing`.",
        ),
        (
            status.oldest_stale_day_seconds > STALE_DAY_MAX_SECONDS,
            "Days are counted late: start `souk work`, or see `souk jobs rows`.",
        ),
        (
            status.failed_days > 0,
            "Days cannot be counted, and their stores are scored without them: see `souk jobs rows`, and remove the cause. They are tried again.",
        ),
        (
            status.failing_stores > 0,
            "Stores cannot be scored. They are tried again; once the cause is removed, `souk trust recompute --store` does so at once.",
        ),
        (
            is_other,
            "Set TRUST_SCORE_V41_ENABLED alike in every process and shell: the newest score has another methodology.",
        ),
    ];
    let needed: Vec<&'static str> =
        advice.into_iter().filter(|(is_needed, _)| *is_needed).map(|(_, text)| text).collect();
    if needed.is_empty() { vec!["Nothing is late."] } else { needed }
}

/// Returns both methodologies side by side.
pub(super) fn compared(found: &[Comparison]) -> String {
    if found.is_empty() {
        return String::from("No scores of the last 60 days.");
    }
    let line = |store: &str, score: &str, shadow: &str, tier: &str| {
        format!("{store:<32}{score:<22}{shadow:<22}{tier}")
    };
    let row = |comparison: &Comparison| {
        let (band, shadow_band) = comparison.bands();
        let score = scored(comparison.score, band);
        let shadow = scored(comparison.shadow_score(), shadow_band);
        let tier = comparison.shadow.as_ref().map_or("-", |shadow| shadow.tier.as_str());
        line(&comparison.slug, &score, &shadow, tier)
    };
    let others = found.iter().filter(|it| it.bands().0 != it.bands().1).count();
    let mut lines = vec![line("STORE", "2.0", "4.1.0", "TIER")];
    lines.extend(found.iter().map(row));
    lines.push(format!("{others} of {} stores have another band by 4.1.0.", found.len()));
    lines.join("\n")
}

/// Returns the scores that changed unusually fast.
pub(super) fn alerted(found: &[Alert]) -> String {
    if found.is_empty() {
        return String::from("No alerts.");
    }
    let line = |alert: &Alert| {
        let (at, slug, change) = (alert.created_at, &alert.slug, alert.change());
        let (former, score) = (alert.former_score, alert.score);
        let (epoch, revision) = (alert.epoch.0, alert.revision);
        format!(
            "{at}  {slug}  {former:.4} → {score:.4} ({change:+.4})  epoch {epoch}, revision {revision}"
        )
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use primitives::{Id, MerchantId};
    use trust::{Epoch, FailureStage};

    use super::*;

    fn status(lag_seconds: f64) -> TrustStatus {
        let counts =
            TrustCounts { stores: 40, scored: 38, provisional: 9, suspended: 1, old_standings: 0 };
        TrustStatus {
            epoch: Epoch(83_090),
            slots_due: 121,
            slots_done: 120,
            late_epochs: 0,
            skipped_epochs: 0,
            lag_seconds,
            oldest_stale_day_seconds: 4.0,
            failed_days: 0,
            is_backfilled: true,
            newest_methodology: Some(MethodologyVersion::V20),
            failing_stores: 0,
            stale_days: 2,
            counts: Some(counts),
        }
    }

    #[test]
    fn the_status_says_whether_scores_are_late() {
        insta::assert_snapshot!(shown(&status(12.0), MethodologyVersion::V20, &[]), @r"
        methodology       2.0
        epoch             83090 (2026-11-15T12:00:00Z)
        slots computed    120 of 121 due, 360 in all
        late epochs       0
        skipped epochs    0
        lag               12 s
        stores            40
        with a score      38 (9 provisional)
        suspended         1
        older than 12 h   0
        cannot be scored  0
        stale days        2 (oldest 4 s)
        failed days       0
        Nothing is late.
        ");
        let late = shown(&status(3_601.0), MethodologyVersion::V20, &[]);
        assert!(late.contains("Scores are late") && !late.contains("Nothing"), "{late}");
    }

    #[test]
    fn the_status_names_stores_that_cannot_be_scored() {
        let mut failing = status(0.0);
        failing.failing_stores = 1;
        failing.oldest_stale_day_seconds = 700.0;
        failing.failed_days = 3;
        let failure = Failure {
            merchant: MerchantId::from_random(1),
            slug: String::from("attic"),
            stage: FailureStage::Score,
            epoch: failing.epoch,
            failed_at: failing.epoch.as_of(),
            error: String::from("the database holds an invalid value"),
            attempts: 2,
            retry_at: None,
        };
        let count = Failure {
            stage: FailureStage::Count,
            retry_at: Some(failing.epoch.end()),
            ..failure.clone()
        };
        let shown = shown(&failing, MethodologyVersion::V20, &[failure, count]);
        let again = "value (failed 2 times, again at 2026-11-15T18:00:00Z)\n";
        assert!(shown.contains(again), "{shown}");
        let line = "2026-11-15T12:00:00Z  attic  score: the database holds an invalid value\n";
        assert!(shown.contains("cannot be scored  1\n") && shown.contains(line), "{shown}");
        assert!(shown.contains("Days are counted late"), "{shown}");
        let is_shown = shown.contains("failed days       3\n");
        assert!(is_shown && shown.contains("Days cannot be counted"), "{shown}");
    }

    #[test]
    fn the_status_shows_a_flag_that_differs_and_facts_that_are_counted_first() {
        let other = shown(&status(0.0), MethodologyVersion::V41, &[]);
        assert!(other.contains("4.1.0 (newest score: 2.0)"), "{other}");
        assert!(other.contains("TRUST_SCORE_V41_ENABLED"), "{other}");
        let first = TrustStatus { is_backfilled: false, newest_methodology: None, ..status(0.0) };
        let first = shown(&first, MethodologyVersion::V41, &[]);
        assert!(first.contains("Facts of before") && !first.contains("TRUST_SCORE"), "{first}");
    }
}
