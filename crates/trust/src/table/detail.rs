//! What the newest score of each store was computed from.

use std::collections::BTreeMap;

use database::Work;
use primitives::MerchantId;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::score::NewScore;
use crate::v41::V41Figures;
use crate::{Component, Computation, Epoch, Evidence, Figure, Sample, Shadow, StateFigures};

/// A figure without its value, which is stored with the score.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Weighting {
    pub(super) confidence: f64,
    pub(super) sample: Sample,
}

pub(super) type Weightings = BTreeMap<Component, Weighting>;

/// The evidence of a score as it is stored: all but the rows of days.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredState {
    state: StateFigures,
    delivered_total: i64,
    v41: V41Figures,
}

impl StoredState {
    pub(crate) fn of(evidence: &Evidence) -> Self {
        Self {
            state: evidence.state.clone(),
            delivered_total: evidence.delivered_total,
            v41: evidence.v41.clone(),
        }
    }

    /// Returns the evidence, without rows of days.
    pub(crate) fn into_evidence(self, epoch: Epoch) -> Evidence {
        let Self { state, delivered_total, v41 } = self;
        Evidence { epoch, state, days: Vec::new(), delivered_total, v41 }
    }
}

/// The details of a score.
pub(super) struct NewDetail<'new> {
    merchant: MerchantId,
    epoch: Epoch,
    revision: i32,
    figures: Weightings,
    state: &'new StoredState,
    shadow: &'new Shadow,
}

impl<'new> NewDetail<'new> {
    /// Returns the details of a score that was computed from evidence.
    pub(super) fn of(new: &NewScore<'new>, revision: i32) -> Option<Self> {
        let NewScore { merchant, computation, state } = *new;
        let weighting = |(component, figure): (&Component, &Figure)| {
            let Figure { confidence, sample, .. } = *figure;
            (*component, Weighting { confidence, sample })
        };
        Some(Self {
            merchant,
            epoch: computation.epoch,
            revision,
            figures: computation.figures.iter().map(weighting).collect(),
            state: state?,
            shadow: computation.shadow.as_ref()?,
        })
    }
}

/// Replaces the details of stores by those of newer scores. Those of epochs that lie ahead, because a clock was wrong, are
/// replaced by any. No store may occur twice.
pub(super) async fn put(work: &mut Work, details: &[NewDetail<'_>]) -> sqlx::Result<()> {
    let current = Epoch::of(work.now());
    let merchants: Vec<Uuid> = details.iter().map(|it| it.merchant.uuid()).collect();
    let epochs: Vec<i64> = details.iter().map(|it| it.epoch.0).collect();
    let revisions: Vec<i32> = details.iter().map(|it| it.revision).collect();
    let figures: Vec<Json<&Weightings>> = details.iter().map(|it| Json(&it.figures)).collect();
    let states: Vec<Json<&StoredState>> = details.iter().map(|it| Json(it.state)).collect();
    let shadows: Vec<Json<&Shadow>> = details.iter().map(|it| Json(it.shadow)).collect();
    sqlx::query!(
        "INSERT INTO trust_detail AS former (merchant_id, epoch, revision, figures, state, shadow)
         SELECT new.merchant_id, new.epoch, new.revision, new.figures, new.state, new.shadow
         FROM unnest($1::uuid[], $2::bigint[], $3::int[], $4::jsonb[], $5::jsonb[], $6::jsonb[])
              AS new (merchant_id, epoch, revision, figures, state, shadow)
         ORDER BY new.merchant_id
         ON CONFLICT (merchant_id) DO UPDATE
         SET epoch = excluded.epoch, revision = excluded.revision, figures = excluded.figures, state = excluded.state,
             shadow = excluded.shadow
         WHERE former.epoch > $7 OR (former.epoch, former.revision) < (excluded.epoch, excluded.revision)",
        &merchants,
        &epochs,
        &revisions,
        &figures as _,
        &states as _,
        &shadows as _,
        current.0,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// What the newest score of a store in an epoch was computed from.
pub(crate) struct ScoredState {
    pub(crate) revision: i32,
    pub(crate) state: StoredState,
    /// That of the evidence with the rows of days.
    pub(crate) evidence_hash: Option<Vec<u8>>,
}

/// Returns what the newest score of a store was computed from, if it is one of this epoch.
pub(crate) async fn of_epoch(
    sql: &mut PgConnection,
    merchant: MerchantId,
    epoch: Epoch,
) -> sqlx::Result<Option<ScoredState>> {
    let row = sqlx::query!(
        r#"SELECT detail.revision, detail.state AS "state!: Json<StoredState>", scored.evidence_hash AS "evidence_hash?"
           FROM trust_detail AS detail
           JOIN trust_score AS scored
               ON scored.merchant_id = detail.merchant_id AND scored.epoch = $2 AND scored.revision = detail.revision
           WHERE detail.merchant_id = $1 AND detail.epoch = $2"#,
        merchant as MerchantId,
        epoch.0,
    )
    .fetch_optional(sql)
    .await?;
    Ok(row.map(|row| ScoredState {
        revision: row.revision,
        state: row.state.0,
        evidence_hash: row.evidence_hash,
    }))
}

/// Returns the evidence of a computation as it was stored, without rows of days; `None` if it has none, or if the store has
/// a newer computation.
pub(crate) async fn state_of(
    sql: &mut PgConnection,
    merchant: MerchantId,
    computation: &Computation,
) -> sqlx::Result<Option<StoredState>> {
    let state = sqlx::query_scalar!(
        r#"SELECT state AS "state: Json<StoredState>" FROM trust_detail
           WHERE merchant_id = $1 AND epoch = $2 AND revision = $3"#,
        merchant as MerchantId,
        computation.epoch.0,
        computation.revision,
    )
    .fetch_optional(sql)
    .await?;
    Ok(state.map(|Json(state)| state))
}
