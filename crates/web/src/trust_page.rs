//! The page of a store's trust score: its components as bars, its history as a chart, and all numbers as text.

use std::sync::Arc;
use std::time::Duration;

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use database::Reading;
use merchants::{SUSPENSION_THRESHOLD, Store, StoreError};
use primitives::{ClientAddress, Failure, RequestId, StoreSlug};
use trust::{Basis, Component, ComponentSource, Computation, Computed, MethodologyVersion};

use crate::Web;
use crate::public_page::{TrustView, admit, failure_page, format_score, page, sentence};
use crate::terms_view::{format_date, format_time};
use crate::trust_chart::{Chart, Point, charts};

/// Period of the chart, up to the newest score.
const PERIOD: Duration = Duration::from_hours(90 * 24);
/// Scores in the chart.
const POINTS_MAX: u16 = 90;

pub(crate) fn routes() -> Router<Web> {
    Router::new().route("/stores/{slug}/trust", get(show))
}

#[derive(Template)]
#[template(path = "trust.html")]
struct TrustPage<'found> {
    store: &'found Store,
    trust: TrustView,
    /// Why the store is not available.
    notice: Option<String>,
    computed_at: String,
    components: Vec<ComponentView>,
    /// Whether the score was computed from synthetic facts.
    is_demo_score: bool,
    /// Whether the score in force is that of another methodology than its components.
    is_v41: bool,
    charts: Vec<Chart>,
    summary: Option<String>,
    rows: Vec<RowView>,
}

impl<'found> TrustPage<'found> {
    fn new(found: &'found Found) -> Self {
        let store = &*found.store;
        let computation = found.computation.as_ref();
        let point =
            |past: &Computation| Point { at: past.epoch.as_of(), score: past.trust_score() };
        let points: Vec<Point> = found.history.iter().rev().map(point).collect();
        Self {
            store,
            trust: TrustView::of(store),
            notice: notice(store),
            computed_at: format_time(store.standing.computed_at),
            components: computation.map(components).unwrap_or_default(),
            is_demo_score: computation.is_some_and(|it| it.basis == Basis::Demo),
            is_v41: computation.is_some_and(|it| it.methodology == MethodologyVersion::V41),
            charts: charts(&points),
            summary: summary(&points),
            rows: found.history.iter().map(RowView::of).collect(),
        }
    }
}

fn notice(store: &Store) -> Option<String> {
    if store.is_listed() {
        return None;
    }
    if !store.standing.is_suspended() {
        return Some(String::from("This store is not available at the moment."));
    }
    let least = format_score(SUSPENSION_THRESHOLD);
    Some(format!(
        "Suspended: the score is below {least}. Agents do not find this store until its score is {least} or more."
    ))
}

/// A component as a bar with its numbers.
struct ComponentView {
    name: String,
    description: &'static str,
    /// `None` if there is no data for it.
    score: Option<String>,
    /// Length of the bar, 0 to 100.
    length: String,
    /// Share of the score that it decides.
    weight_percent: String,
    published_percent: String,
    /// What the score lacks of 1 because of it.
    cost: String,
    source: &'static str,
}

fn components(computation: &Computation) -> Vec<ComponentView> {
    let computed = computation.computed();
    Component::ALL.iter().map(|component| ComponentView::of(*component, &computed)).collect()
}

impl ComponentView {
    fn of(component: Component, computed: &Computed) -> Self {
        let figure = computed.figures.get(&component).copied().flatten();
        let value = figure.map(|figure| figure.value);
        Self {
            name: sentence(&component.as_str().replace('_', " ")),
            description: component.description(),
            score: value.map(format_score),
            length: format!("{:.1}", value.unwrap_or_default() * 100.0),
            weight_percent: format!("{:.0}", computed.effective_weight(component) * 100.0),
            published_percent: format!("{:.0}", component.weight() * 100.0),
            cost: format!("{:.3}", computed.points_lost(component)),
            source: match component.source() {
                ComponentSource::Verified => "measured",
                ComponentSource::Declared => "declared",
            },
        }
    }
}

/// A score of the history.
struct RowView {
    /// The beginning of its epoch.
    as_of: String,
    score: String,
    band: &'static str,
}

impl RowView {
    fn of(past: &Computation) -> Self {
        Self {
            as_of: format_time(past.epoch.as_of()),
            score: past.trust_score().map_or_else(|| String::from("–"), format_score),
            band: past.band().map_or("not rated", merchants::Band::as_str),
        }
    }
}

/// Returns the history of scores, oldest first, in a sentence; `None` without a score.
fn summary(points: &[Point]) -> Option<String> {
    let scores: Vec<(f64, String)> =
        points.iter().filter_map(|point| Some((point.score?, format_date(point.at)))).collect();
    let (first, last) = (scores.first()?, scores.last()?);
    let values = || scores.iter().map(|(score, _)| *score);
    let lowest = format_score(values().fold(f64::INFINITY, f64::min));
    let highest = format_score(values().fold(0.0, f64::max));
    let (now, day) = (format_score(last.0), &last.1);
    if scores.len() == 1 {
        return Some(format!("{now} on {day}."));
    }
    let (then, begin) = (format_score(first.0), &first.1);
    Some(format!("From {then} on {begin} to {now} on {day}. Lowest {lowest}, highest {highest}."))
}

/// A store with its scores.
struct Found {
    store: Arc<Store>,
    computation: Option<Computation>,
    /// The newest first.
    history: Vec<Computation>,
}

async fn show(
    State(web): State<Web>,
    Extension(from): Extension<ClientAddress>,
    id: Option<Extension<RequestId>>,
    Path(slug): Path<String>,
) -> Response {
    let found: Result<Found, Failure> = async {
        let _permit = admit(&web, from).await?;
        let slug: StoreSlug = slug.parse().map_err(|_| StoreError::NotFound)?;
        // The trust record stays public (docs/contract/stores.md#unavailable-exceptions).
        let store = web.stores.find_active(&slug).await?;
        let merchant = store.merchant;
        let reading = Reading::for_store(&web.database, merchant)?;
        let computation = trust::latest(&reading, merchant).await?;
        let since = computation.as_ref().map(|newest| newest.epoch.as_of().minus(PERIOD));
        let history = trust::thinned_history(&reading, merchant, since, None, POINTS_MAX).await?;
        Ok(Found { store, computation, history })
    }
    .await;
    match found {
        Ok(found) => page(&TrustPage::new(&found)),
        Err(failure) => failure_page(&failure, id.as_deref()),
    }
}

#[cfg(test)]
mod tests {
    use primitives::Timestamp;

    use super::*;

    #[test]
    fn the_history_of_a_score_is_a_sentence() {
        let at = |days: u32| {
            Timestamp::from_unix_micros(1_794_729_600_000_000).plus(Duration::from_hours(24) * days)
        };
        let point = |days, score| Point { at: at(days), score };
        let history = [(0, None), (1, Some(0.5)), (2, Some(0.9)), (3, Some(0.85))];
        let points: Vec<Point> = history.map(|(days, score)| point(days, score)).into();
        let expected = "From 0.50 on 2026-11-16 to 0.85 on 2026-11-18. Lowest 0.50, highest 0.90.";
        assert_eq!(summary(&points).as_deref(), Some(expected));
        assert_eq!(summary(&points[..2]).as_deref(), Some("0.50 on 2026-11-16."));
        assert_eq!(summary(&points[..1]), None);
    }
}
