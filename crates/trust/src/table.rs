//! All SQL of this crate.

use database::Work;
use primitives::{MerchantId, Timestamp};
use serde_json::Value;
use sqlx::PgConnection;

use crate::{Basis, Computation, METHODOLOGY_VERSION};

struct Row {
    computed_at: Timestamp,
    score: Option<f64>,
    provisional: bool,
    basis: String,
    components: Value,
}

impl TryFrom<Row> for Computation {
    type Error = sqlx::Error;

    fn try_from(row: Row) -> Result<Self, sqlx::Error> {
        let basis = row.basis.parse::<Basis>().map_err(|error| decode_error("basis", error))?;
        let components = serde_json::from_value(row.components)
            .map_err(|error| decode_error("components", error))?;
        Ok(Self {
            computed_at: row.computed_at,
            score: row.score,
            provisional: row.provisional,
            basis,
            components,
        })
    }
}

fn decode_error(
    column: &str,
    source: impl std::error::Error + Send + Sync + 'static,
) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: Box::new(source) }
}

pub(crate) async fn append(
    work: &mut Work,
    merchant: MerchantId,
    computation: &Computation,
) -> sqlx::Result<()> {
    sqlx::query!(
        "INSERT INTO trust_score
             (merchant_id, computed_at, methodology, score, provisional, basis, components)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (merchant_id, computed_at) DO NOTHING",
        merchant.uuid(),
        computation.computed_at as Timestamp,
        METHODOLOGY_VERSION,
        computation.score,
        computation.provisional,
        computation.basis.as_str(),
        serde_json::json!(computation.components),
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
    row.map(Computation::try_from).transpose()
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
    rows.into_iter().map(Computation::try_from).collect()
}
