//! The rows of the history.

use std::collections::BTreeMap;

use database::Work;
use primitives::{MerchantId, Timestamp};
use serde_json::Value;
use sqlx::PgConnection;

use crate::{Basis, Component, Computation, METHODOLOGY_VERSION};

struct Row {
    computed_at: Timestamp,
    score: Option<f64>,
    provisional: bool,
    basis: String,
    components: Value,
}

impl From<Row> for Computation {
    fn from(row: Row) -> Self {
        let figures = row.components.as_object().into_iter().flatten();
        let component = |(name, figure): (&String, &Value)| {
            Some((Component::from_name(name)?, figure.as_f64()?))
        };
        let basis = Basis::ALL.iter().find(|(_, name)| *name == row.basis);
        Self {
            computed_at: row.computed_at,
            score: row.score,
            provisional: row.provisional,
            basis: basis.map_or(Basis::Demo, |(basis, _)| *basis),
            components: figures.filter_map(component).collect(),
        }
    }
}

pub(crate) async fn append(
    work: &mut Work,
    merchant: MerchantId,
    computation: &Computation,
) -> sqlx::Result<()> {
    let figures: BTreeMap<&str, f64> = computation
        .components
        .iter()
        .map(|(component, figure)| (component.name(), *figure))
        .collect();
    let basis = Basis::ALL.iter().find(|(basis, _)| *basis == computation.basis);
    sqlx::query!(
        "INSERT INTO trust_score
             (merchant_id, computed_at, methodology, score, provisional, basis, components)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (merchant_id, computed_at) DO NOTHING",
        merchant.uuid(),
        computation.computed_at as Timestamp,
        METHODOLOGY_VERSION,
        computation.score,
        computation.provisional,
        basis.map_or("demo", |(_, name)| *name),
        serde_json::json!(figures),
    )
    .execute(work.sql())
    .await?;
    Ok(())
}

pub(crate) async fn latest(
    sql: &mut PgConnection,
    merchant: MerchantId,
) -> sqlx::Result<Option<Computation>> {
    let row = sqlx::query_as!(
        Row,
        r#"SELECT computed_at AS "computed_at: Timestamp", score, provisional, basis, components
           FROM trust_score WHERE merchant_id = $1 ORDER BY computed_at DESC LIMIT 1"#,
        merchant.uuid(),
    )
    .fetch_optional(sql)
    .await?;
    Ok(row.map(Computation::from))
}

pub(crate) async fn history(
    sql: &mut PgConnection,
    merchant: MerchantId,
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    limit: i64,
) -> sqlx::Result<Vec<Computation>> {
    let rows = sqlx::query_as!(
        Row,
        r#"SELECT computed_at AS "computed_at: Timestamp", score, provisional, basis, components
           FROM trust_score
           WHERE merchant_id = $1 AND ($2::timestamptz IS NULL OR computed_at >= $2)
             AND ($3::timestamptz IS NULL OR computed_at <= $3)
           ORDER BY computed_at DESC LIMIT $4"#,
        merchant.uuid(),
        from as Option<Timestamp>,
        to as Option<Timestamp>,
        limit,
    )
    .fetch_all(sql)
    .await?;
    Ok(rows.into_iter().map(Computation::from).collect())
}
