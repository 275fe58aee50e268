//! PostgreSQL's full-text search on the same products: a separate table with their lexemes and a GIN index,
//! the same queries and the same results.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::measure::{ByKind, MIXED, cpu_nanos, micros_per_query};
use super::synthetic_catalog::{LIMIT, Query};
use crate::report::{Failure, ensure};

/// Maximum time for the queries of one kind.
const KIND_MAX: Duration = Duration::from_secs(8);

/// A connection to the full-text table.
pub(crate) struct FullText {
    sql: PgConnection,
    /// The backend process of the connection.
    pid: u32,
    pub(crate) build: Duration,
    pub(crate) bytes: u64,
}

impl FullText {
    /// Creates the full-text table from the loaded products. Names have a higher weight, as in the other
    /// engines.
    pub(crate) async fn build(database_url: &str) -> Result<Self, Failure> {
        let since = Instant::now();
        let mut sql = PgConnection::connect(database_url).await?;
        let extension: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'btree_gin')",
        )
        .fetch_one(&mut sql)
        .await?;
        // With `btree_gin` the store is part of the GIN index; without it two indexes are combined.
        let indexes = if extension {
            "CREATE EXTENSION IF NOT EXISTS btree_gin;
             CREATE INDEX proof_fts_words ON proof_fts USING gin (words, merchant_id);"
        } else {
            "CREATE INDEX proof_fts_words ON proof_fts USING gin (words);
             CREATE INDEX proof_fts_store ON proof_fts (merchant_id);"
        };
        let statements = format!(
            "SET maintenance_work_mem = '1GB';
             SET max_parallel_workers_per_gather = 0;
             SET jit = off;
             SET work_mem = '64MB';
             DROP TABLE IF EXISTS proof_fts;
             CREATE TABLE proof_fts AS
             SELECT product.merchant_id, product_id, price_minor, path,
                    stock_status = 'in_stock' AS in_stock,
                    setweight(to_tsvector('english', product.name || ' ' || brand), 'A')
                    || to_tsvector('english', concat_ws(' ', category.name, replace(path, '/', ' '),
                           description, attributes ->> 'colour', attributes ->> 'material')) AS words
             FROM product JOIN category USING (merchant_id, category_id)
             WHERE retired_at IS NULL;
             {indexes}
             ANALYZE proof_fts;"
        );
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut sql).await?;
        sqlx::raw_sql("VACUUM proof_fts").execute(&mut sql).await?;
        let bytes: i64 = sqlx::query_scalar("SELECT pg_total_relation_size('proof_fts')")
            .fetch_one(&mut sql)
            .await?;
        let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut sql).await?;
        let (pid, bytes) = (u32::try_from(pid)?, u64::try_from(bytes)?);
        Ok(Self { sql, pid, build: since.elapsed(), bytes })
    }

    /// Returns the number of hits; the records of the first twenty are fetched and discarded.
    pub(crate) async fn search(&mut self, query: &Query) -> Result<u64, Failure> {
        let statement = AssertSqlSafe(statement(query));
        let rows = sqlx::raw_sql(statement).fetch_all(&mut self.sql).await?;
        let total: i64 = rows.first().map_or(Ok(0), |row| row.try_get("total"))?;
        Ok(u64::try_from(total)?)
    }

    /// Returns the CPU time per query of each kind, measured for at most `KIND_MAX` each.
    pub(crate) async fn by_kind(
        &mut self,
        kinds: &[(String, Vec<Query>)],
    ) -> Result<ByKind, Failure> {
        let mut by_kind = ByKind::new();
        for (kind, queries) in kinds {
            let (since, before) = (Instant::now(), self.nanos(Duration::ZERO));
            let mut count = 0;
            for query in queries {
                self.search(query).await?;
                count += 1;
                if since.elapsed() > KIND_MAX {
                    break;
                }
            }
            let nanos = self.nanos(since.elapsed()).saturating_sub(before);
            by_kind.insert(kind.clone(), micros_per_query(nanos, count));
        }
        ensure(!by_kind.is_empty(), || String::from("there are no queries"))?;
        let kinds = super::measure::as_float(by_kind.len());
        by_kind.insert(String::from(MIXED), by_kind.values().sum::<f64>() / kinds);
        Ok(by_kind)
    }

    /// Returns the CPU time of the backend process, or the elapsed time if `/proc` cannot be read.
    fn nanos(&self, elapsed: Duration) -> u64 {
        let passed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        cpu_nanos(self.pid).unwrap_or(passed)
    }
}

/// Returns the statement, with literal values so that the planner knows them. All words are generated, so
/// nothing needs escaping.
fn statement(query: &Query) -> String {
    let words = query.words.join(" & ");
    let mut filters = Vec::new();
    if let Some((_, slug)) = &query.store {
        let store = format!("SELECT merchant_id FROM platform.store_slug WHERE slug = '{slug}'");
        filters.push(format!(" AND proof_fts.merchant_id = ({store})"));
    }
    if let Some(most) = query.max_price_minor {
        filters.push(format!(" AND price_minor <= {most}"));
    }
    if query.in_stock_only {
        filters.push(String::from(" AND in_stock"));
    }
    if let Some(path) = &query.category {
        filters.push(format!(" AND path = '{path}'"));
    }
    let filters = filters.concat();
    format!(
        "WITH hit AS MATERIALIZED (
             SELECT proof_fts.merchant_id, product_id,
                    ts_rank(words, query) * (0.5 + 0.5 * score) AS rank
             FROM to_tsquery('english', '{words}') AS query, proof_fts
             JOIN standing ON standing.merchant_id = proof_fts.merchant_id AND score >= 0.2
             WHERE words @@ query{filters}),
         best AS (SELECT * FROM hit ORDER BY rank DESC, product_id LIMIT {LIMIT})
         SELECT (SELECT count(*) FROM hit) AS total, rank, product.*
         FROM best JOIN product USING (merchant_id, product_id) ORDER BY rank DESC, product_id"
    )
}
