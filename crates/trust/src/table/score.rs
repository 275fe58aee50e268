//! Scores by epoch and revision. Rows are appended and never changed.

use std::collections::{BTreeMap, HashMap};

use database::Work;
use primitives::{MerchantId, Timestamp};
use sqlx::PgConnection;
use uuid::Uuid;

use super::detail::{self, NewDetail, StoredState};
use crate::{Component, Computation, Epoch};

/// Epochs of a partition.
const PARTITION_EPOCHS: i64 = 120;

/// A score to append.
pub(crate) struct NewScore<'new> {
    pub(crate) merchant: MerchantId,
    pub(crate) computation: &'new Computation,
    /// `None` if the score was not computed from evidence. It has no details then.
    pub(crate) state: Option<&'new StoredState>,
}

impl<'new> NewScore<'new> {
    /// Returns a score without evidence.
    pub(crate) const fn of(merchant: MerchantId, computation: &'new Computation) -> Self {
        Self { merchant, computation, state: None }
    }
}

/// A score that was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Appended {
    pub(crate) merchant: MerchantId,
    pub(crate) epoch: i64,
    pub(crate) revision: i32,
    /// Whether the store has no score of a later epoch.
    pub(crate) is_newest: bool,
}

/// Appends scores as the first ones of their epoch, in one statement, and the details of those that are the newest of their
/// store. Returns those that were appended: a store that has one is left out.
pub(crate) async fn append(
    work: &mut Work,
    scores: &[NewScore<'_>],
) -> sqlx::Result<Vec<Appended>> {
    insert(work, scores, false).await
}

/// Appends scores as the next revisions of their epoch. Returns those that were appended: a store for which another
/// transaction appended one at the same time is left out.
pub(crate) async fn append_revisions(
    work: &mut Work,
    scores: &[NewScore<'_>],
) -> sqlx::Result<Vec<Appended>> {
    insert(work, scores, true).await
}

async fn insert(
    work: &mut Work,
    scores: &[NewScore<'_>],
    is_revision: bool,
) -> sqlx::Result<Vec<Appended>> {
    let computed = || scores.iter().map(|new| new.computation);
    let merchants: Vec<Uuid> = scores.iter().map(|new| new.merchant.uuid()).collect();
    let epochs: Vec<i64> = computed().map(|it| it.epoch.0).collect();
    let times: Vec<Timestamp> = computed().map(|it| it.computed_at).collect();
    let methodologies: Vec<&str> = computed().map(|it| it.methodology.as_str()).collect();
    let values: Vec<Option<f64>> = computed().map(|it| it.score).collect();
    let provisional: Vec<bool> = computed().map(|it| it.provisional).collect();
    let bases: Vec<&str> = computed().map(|it| it.basis.as_str()).collect();
    let causes: Vec<&str> = computed().map(|it| it.cause.as_str()).collect();
    let components: Vec<String> = computed().map(|it| array_of(&it.components)).collect();
    let shadows = || computed().map(|it| it.shadow.as_ref());
    let v41_scores: Vec<Option<f64>> = shadows().map(|it| it.and_then(|it| it.score)).collect();
    let tiers: Vec<Option<&str>> = shadows().map(|it| it.map(|it| it.tier.as_str())).collect();
    let hashes: Vec<Option<&[u8]>> = computed().map(|it| it.evidence_hash.as_deref()).collect();
    let current = Epoch::of(work.now());
    let appended = sqlx::query_as!(
        Appended,
        r#"INSERT INTO trust_score AS scored
               (merchant_id, epoch, revision, computed_at, methodology, score, provisional, basis, cause,
                component_values, v41_score, v41_tier, evidence_hash)
           SELECT new.merchant_id, new.epoch,
                  CASE WHEN $1::bool THEN coalesce((
                      SELECT max(former.revision) + 1 FROM trust_score AS former
                      WHERE former.merchant_id = new.merchant_id AND former.epoch = new.epoch), 0) ELSE 0 END,
                  new.computed_at, new.methodology, new.score, new.provisional, new.basis, new.cause,
                  new.component_values::float8[], new.v41_score, new.v41_tier, new.evidence_hash
           FROM unnest($2::uuid[], $3::bigint[], $4::timestamptz[], $5::text[], $6::float8[], $7::bool[], $8::text[],
                       $9::text[], $10::text[], $11::float8[], $12::text[], $13::bytea[])
                AS new (merchant_id, epoch, computed_at, methodology, score, provisional, basis, cause, component_values,
                        v41_score, v41_tier, evidence_hash)
           ORDER BY new.merchant_id
           ON CONFLICT (merchant_id, epoch, revision) DO NOTHING
           RETURNING scored.merchant_id AS "merchant: MerchantId", scored.epoch, scored.revision,
                     (scored.epoch >= $14 OR NOT EXISTS (
                         SELECT FROM trust_score AS later
                         WHERE later.merchant_id = scored.merchant_id AND later.epoch > scored.epoch
                           AND later.epoch <= $14)) AS "is_newest!""#,
        is_revision,
        &merchants,
        &epochs,
        &times as _,
        &methodologies as _,
        &values as _,
        &provisional,
        &bases as _,
        &causes as _,
        &components,
        &v41_scores as _,
        &tiers as _,
        &hashes as _,
        current.0,
    )
    .fetch_all(work.sql())
    .await?;
    put_details(work, scores, &appended).await?;
    Ok(appended)
}

/// Stores the details of the scores that are the newest of their store.
async fn put_details(
    work: &mut Work,
    scores: &[NewScore<'_>],
    appended: &[Appended],
) -> sqlx::Result<()> {
    let key = |new: &NewScore<'_>| (new.merchant, new.computation.epoch.0);
    let newest = appended.iter().filter(|it| it.is_newest);
    let revisions: HashMap<(MerchantId, i64), i32> =
        newest.map(|it| ((it.merchant, it.epoch), it.revision)).collect();
    let details: Vec<NewDetail<'_>> =
        scores.iter().filter_map(|new| NewDetail::of(new, *revisions.get(&key(new))?)).collect();
    if details.is_empty() { Ok(()) } else { detail::put(work, &details).await }
}

/// Returns the values of all components as a literal of an array, in the order of [`Component::ALL`]. PostgreSQL has no array
/// of arrays that a statement could spread over rows.
fn array_of(components: &BTreeMap<Component, f64>) -> String {
    let value = |component: &Component| match components.get(component) {
        Some(value) => value.to_string(),
        None => String::from("NULL"),
    };
    format!("{{{}}}", Component::ALL.iter().map(value).collect::<Vec<_>>().join(","))
}

/// Returns the newest revision of a store in an epoch; `None` if it has no score of it.
pub(crate) async fn newest_revision(
    sql: &mut PgConnection,
    merchant: MerchantId,
    epoch: Epoch,
) -> sqlx::Result<Option<i32>> {
    sqlx::query_scalar!(
        "SELECT max(revision) FROM trust_score WHERE merchant_id = $1 AND epoch = $2",
        merchant as MerchantId,
        epoch.0,
    )
    .fetch_one(sql)
    .await
}

/// Whether a store ever had a score that was not null.
pub(crate) async fn was_scored(sql: &mut PgConnection, merchant: MerchantId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"SELECT EXISTS (
               SELECT FROM trust_score WHERE merchant_id = $1 AND score IS NOT NULL) AS "was_scored!""#,
        merchant as MerchantId,
    )
    .fetch_one(sql)
    .await
}

/// Marks a store whose facts are synthetic.
pub(crate) async fn mark_synthetic(work: &mut Work, merchant: MerchantId) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO trust_synthetic (merchant_id) VALUES ($1) ON CONFLICT DO NOTHING",
        merchant as MerchantId,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Returns the number of the partition of an epoch.
pub(crate) const fn partition_of(epoch: Epoch) -> i64 {
    epoch.0.div_euclid(PARTITION_EPOCHS)
}

/// Returns the numbers of the partitions from that of one epoch to that of another that do not exist.
pub(crate) async fn missing_partitions(
    sql: &mut PgConnection,
    first: Epoch,
    last: Epoch,
) -> sqlx::Result<Vec<i64>> {
    sqlx::query_scalar!(
        r#"SELECT number AS "number!" FROM generate_series($1::bigint, $2::bigint) AS number
           WHERE to_regclass('public.trust_score_' || number) IS NULL ORDER BY number"#,
        partition_of(first),
        partition_of(last),
    )
    .fetch_all(sql)
    .await
}

/// Creates a partition, unless another process has.
pub(crate) async fn create_partition(work: &mut Work, number: i64) -> sqlx::Result<()> {
    sqlx::query!(r#"SELECT trust_create_partition($1) AS "created!""#, number)
        .fetch_one(work.sql())
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_stored_in_an_order_that_does_not_change() {
        let stored = [
            "catalog_completeness",
            "catalog_freshness",
            "price_accuracy",
            "availability_accuracy",
            "policy_coverage",
            "checkout_success_rate",
            "fulfillment_rate",
            "dispute_rate",
            "agent_satisfaction_rate",
            "response_latency",
            "review_sentiment",
            "data_consistency",
        ];
        assert_eq!(Component::ALL.iter().map(|it| it.as_str()).collect::<Vec<_>>(), stored);
        let values = BTreeMap::from([
            (Component::CatalogFreshness, 1.0 / 3.0),
            (Component::DataConsistency, 1.0),
        ]);
        let literal = "{NULL,0.3333333333333333,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1}";
        assert_eq!(array_of(&values), literal);
    }
}
