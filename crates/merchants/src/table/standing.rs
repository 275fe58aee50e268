//! The standing of stores.

use std::collections::HashMap;

use database::Work;
use primitives::{MerchantId, Timestamp};
use uuid::Uuid;

use crate::Standing;

struct StandingRow {
    merchant: MerchantId,
    score: Option<f64>,
    provisional: bool,
    computed_at: Timestamp,
}

/// Inserts standings without a score for those of these merchants that have none. Waits for others that do the same.
pub(crate) async fn insert_missing_standings(
    work: &mut Work,
    merchants: &[Uuid],
) -> sqlx::Result<()> {
    let now = work.now();
    sqlx::query!(
        "INSERT INTO standing (merchant_id, score, provisional, computed_at)
         SELECT given.merchant_id, NULL::float8, true, $2::timestamptz
         FROM unnest($1::uuid[]) AS given (merchant_id)
         WHERE NOT EXISTS (SELECT FROM standing WHERE standing.merchant_id = given.merchant_id)
         ORDER BY given.merchant_id
         ON CONFLICT (merchant_id) DO NOTHING",
        merchants,
        now as Timestamp,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

/// Locks the standings of these merchants, in the order of their ids, and returns them. A store that was never scored has
/// none.
pub(crate) async fn lock_standings(
    work: &mut Work,
    merchants: &[Uuid],
) -> sqlx::Result<HashMap<MerchantId, Standing>> {
    let rows = sqlx::query_as!(
        StandingRow,
        r#"SELECT merchant_id AS "merchant: MerchantId", score, provisional, computed_at AS "computed_at: Timestamp"
           FROM standing WHERE merchant_id = ANY ($1) ORDER BY merchant_id FOR UPDATE"#,
        merchants,
    )
    .fetch_all(work.sql())
    .await?;
    let standing = |row: StandingRow| {
        let StandingRow { merchant, score, provisional, computed_at } = row;
        (merchant, Standing { score, provisional, computed_at })
    };
    Ok(rows.into_iter().map(standing).collect())
}

/// Sets standings. No merchant is named twice.
pub(crate) async fn put_standings(
    work: &mut Work,
    standings: &[(MerchantId, Standing)],
) -> sqlx::Result<()> {
    let merchants: Vec<Uuid> = standings.iter().map(|(merchant, _)| merchant.uuid()).collect();
    let scores: Vec<Option<f64>> = standings.iter().map(|(_, standing)| standing.score).collect();
    let provisional: Vec<bool> = standings.iter().map(|(_, it)| it.provisional).collect();
    let times: Vec<Timestamp> = standings.iter().map(|(_, it)| it.computed_at).collect();
    sqlx::query!(
        "INSERT INTO standing (merchant_id, score, provisional, computed_at)
         SELECT new.merchant_id, new.score, new.provisional, new.computed_at
         FROM unnest($1::uuid[], $2::float8[], $3::bool[], $4::timestamptz[])
              AS new (merchant_id, score, provisional, computed_at)
         ORDER BY new.merchant_id
         ON CONFLICT (merchant_id) DO UPDATE
         SET score = excluded.score, provisional = excluded.provisional, computed_at = excluded.computed_at",
        &merchants,
        &scores as _,
        &provisional,
        &times as _,
    )
    .execute(work.sql())
    .await?;
    Ok(())
}
