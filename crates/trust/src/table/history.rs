//! Reading scores: the newest one of a store with its details, and its history.

use std::collections::BTreeMap;

use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use sqlx::types::Json;

use super::detail::{Weighting, Weightings};
use crate::v41::Tier;
use crate::{Basis, Cause, Component, Computation, Epoch, Figure, MethodologyVersion, Shadow};

struct Row {
    epoch: i64,
    revision: i32,
    computed_at: Timestamp,
    methodology: MethodologyVersion,
    score: Option<f64>,
    provisional: bool,
    basis: Basis,
    cause: Cause,
    /// In the order of [`Component::ALL`].
    component_values: Vec<Option<f64>>,
    v41_score: Option<f64>,
    v41_tier: Option<Tier>,
    evidence_hash: Option<Vec<u8>>,
    /// `None` if the score has no details.
    figures: Option<Json<Weightings>>,
    shadow: Option<Json<Shadow>>,
}

impl Row {
    /// Returns the result of methodology 4.1.0. Base and dimensions are details.
    fn shadow(&mut self) -> Option<Shadow> {
        let outline = Shadow::outline(self.v41_tier?, self.v41_score);
        Some(match self.shadow.take() {
            Some(Json(Shadow { base, dimensions, .. })) => Shadow { base, dimensions, ..outline },
            None => outline,
        })
    }
}

impl From<Row> for Computation {
    fn from(mut row: Row) -> Self {
        let shadow = row.shadow();
        let weightings = row.figures.map(|Json(weightings)| weightings).unwrap_or_default();
        let values = Component::ALL.iter().copied().zip(row.component_values);
        let components: BTreeMap<Component, f64> =
            values.filter_map(|(component, value)| Some((component, value?))).collect();
        let figure = |(component, value): (&Component, &f64)| {
            let Weighting { confidence, sample } = *weightings.get(component)?;
            Some((*component, Figure { value: *value, confidence, sample }))
        };
        let figures = components.iter().filter_map(figure).collect();
        Self {
            epoch: Epoch(row.epoch),
            revision: row.revision,
            computed_at: row.computed_at,
            methodology: row.methodology,
            score: row.score,
            provisional: row.provisional,
            basis: row.basis,
            cause: row.cause,
            components,
            figures,
            shadow,
            evidence_hash: row.evidence_hash,
        }
    }
}

/// Selects the columns of `Row` from what is called `scored`; `$details` are those of the details.
macro_rules! computations {
    ($details:literal, $rest:literal, $($argument:expr),*) => {
        sqlx::query_as!(
            Row,
            r#"SELECT scored.epoch AS "epoch!", scored.revision AS "revision!",
                      scored.computed_at AS "computed_at!: Timestamp",
                      scored.methodology AS "methodology!: MethodologyVersion", scored.score AS "score?",
                      scored.provisional AS "provisional!", scored.basis AS "basis!: Basis",
                      scored.cause AS "cause!: Cause",
                      scored.component_values AS "component_values!: Vec<Option<f64>>",
                      scored.v41_score AS "v41_score?", scored.v41_tier AS "v41_tier?: Tier",
                      scored.evidence_hash AS "evidence_hash?", "#
                + $details
                + $rest,
            $($argument),*
        )
    };
}

/// Returns the newest computation of a store in these epochs, with its details.
pub(crate) async fn latest(
    sql: &mut PgConnection,
    merchant: MerchantId,
    (first, last): (i64, i64),
) -> sqlx::Result<Option<Computation>> {
    let row = computations!(
        r#"detail.figures AS "figures?: Json<Weightings>", detail.shadow AS "shadow?: Json<Shadow>" "#,
        "FROM (SELECT * FROM trust_score WHERE merchant_id = $1 AND epoch BETWEEN $2 AND $3
               ORDER BY epoch DESC, revision DESC LIMIT 1) AS scored
         LEFT JOIN trust_detail AS detail
             ON detail.merchant_id = scored.merchant_id AND detail.epoch = scored.epoch
            AND detail.revision = scored.revision",
        merchant as MerchantId,
        first,
        last
    )
    .fetch_optional(sql)
    .await?;
    Ok(row.map(Computation::from))
}

/// A period, by the times of epochs: their beginnings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Period {
    pub(crate) from: Option<Timestamp>,
    pub(crate) to: Option<Timestamp>,
}

impl Period {
    /// Returns the first and the last epoch in the period: also of scores that were computed late.
    fn epochs(self) -> (i64, i64) {
        let first = self.from.map_or(i64::MIN, |from| Epoch::since(from).0);
        (first, self.to.map_or(i64::MAX, |to| Epoch::of(to).0))
    }
}

/// Returns the newest computation of each of `points` equal parts of the epochs of a store in a period, newest first; of each
/// epoch, if there are no more epochs.
pub(crate) async fn thinned_history(
    sql: &mut PgConnection,
    merchant: MerchantId,
    period: Period,
    points: i64,
) -> sqlx::Result<Vec<Computation>> {
    let (first, last) = period.epochs();
    let rows = computations!(
        r#"NULL::jsonb AS "figures?: Json<Weightings>", NULL::jsonb AS "shadow?: Json<Shadow>" "#,
        "FROM (
             SELECT max(scored_at.epoch) AS epoch
             FROM trust_score AS scored_at
             CROSS JOIN (
                 SELECT min(epoch) AS first, max(epoch) AS last FROM trust_score
                 WHERE merchant_id = $1 AND epoch BETWEEN $2 AND $3) AS bounds
             WHERE scored_at.merchant_id = $1 AND scored_at.epoch BETWEEN bounds.first AND bounds.last
             GROUP BY (bounds.last - scored_at.epoch) * $4 / (bounds.last - bounds.first + 1)
         ) AS chosen
         CROSS JOIN LATERAL (
             SELECT * FROM trust_score
             WHERE merchant_id = $1 AND trust_score.epoch = chosen.epoch
             ORDER BY revision DESC LIMIT 1
         ) AS scored
         ORDER BY scored.epoch DESC",
        merchant as MerchantId,
        first,
        last,
        points
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(Computation::from).collect())
}
