//! Test rows for arbitrary tables.

use primitives::MerchantId;
use sqlx::{FromRow, PgConnection};

use crate::report::Failure;

/// A table with a merchant, as the system catalog describes it.
#[derive(Debug, FromRow)]
pub(crate) struct Table {
    pub(crate) name: String,
    /// Row-level security is enabled and forced, so that it applies to the owner too.
    pub(crate) isolated: bool,
    /// The columns of the primary key without `merchant_id`, in the order of `key_types`.
    key_columns: Vec<String>,
    key_types: Vec<String>,
}

/// Returns all tables of schema `public` that have a column `merchant_id`. A partition counts only if
/// the store role may access it directly; otherwise the policy of its parent covers it.
pub(crate) async fn tables_with_merchant(sql: &mut PgConnection) -> sqlx::Result<Vec<Table>> {
    let select = sqlx::query_as(
        "SELECT relation.relname::text AS name,
                relation.relrowsecurity AND relation.relforcerowsecurity AS isolated,
                coalesce(key.columns, '{}') AS key_columns,
                coalesce(key.types, '{}') AS key_types
         FROM pg_class AS relation
         JOIN pg_attribute AS merchant
           ON merchant.attrelid = relation.oid AND merchant.attname = 'merchant_id'
          AND NOT merchant.attisdropped
         LEFT JOIN LATERAL (
             SELECT array_agg(key_column.attname::text) AS columns,
                    array_agg(format_type(key_column.atttypid, NULL)) AS types
             FROM pg_index
             JOIN pg_attribute AS key_column
               ON key_column.attrelid = pg_index.indrelid
              AND key_column.attnum = ANY (pg_index.indkey)
             WHERE pg_index.indrelid = relation.oid AND pg_index.indisprimary
               AND key_column.attname <> 'merchant_id' AND key_column.attidentity = ''
         ) AS key ON true
         WHERE relation.relnamespace = 'public'::regnamespace AND relation.relkind IN ('r', 'p')
           AND (NOT relation.relispartition
                OR has_table_privilege('souk_store', relation.oid, 'SELECT, INSERT, UPDATE, DELETE'))
         ORDER BY relation.relname",
    );
    select.fetch_all(sql).await
}

/// Drops constraints and triggers, and adds partitions for all keys, so that a row needs nothing but its key. Row-level
/// security is not changed.
pub(crate) async fn drop_constraints(sql: &mut PgConnection) -> sqlx::Result<()> {
    let drop_all = sqlx::raw_sql(
        "DO $$
         DECLARE
             part record;
         BEGIN
             FOR part IN
                 SELECT conrelid::regclass AS relation, conname AS name FROM pg_constraint
                 WHERE connamespace = 'public'::regnamespace AND contype IN ('c', 'f')
                   AND coninhcount = 0 AND conrelid <> 0
             LOOP
                 EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', part.relation, part.name);
             END LOOP;
             FOR part IN
                 SELECT attrelid::regclass AS relation, attname AS name FROM pg_attribute
                 JOIN pg_class ON pg_class.oid = attrelid
                 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
                   AND NOT relispartition AND attnum > 0 AND NOT attisdropped
                   AND attnotnull AND attidentity = '' AND NOT EXISTS (
                       SELECT FROM pg_index
                       WHERE indrelid = attrelid AND indisprimary AND attnum = ANY (indkey))
             LOOP
                 EXECUTE format('ALTER TABLE %s ALTER COLUMN %I DROP NOT NULL', part.relation, part.name);
             END LOOP;
             FOR part IN
                 SELECT oid::regclass AS relation FROM pg_class
                 WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
             LOOP
                 EXECUTE format('ALTER TABLE %s DISABLE TRIGGER ALL', part.relation);
             END LOOP;
             FOR part IN
                 SELECT partrelid::regclass AS relation, pg_class.relname AS name
                 FROM pg_partitioned_table JOIN pg_class ON pg_class.oid = partrelid
                 WHERE relnamespace = 'public'::regnamespace AND partdefid = 0
             LOOP
                 EXECUTE format('CREATE TABLE public.%I PARTITION OF %s DEFAULT', part.name || '_of_tests', part.relation);
             END LOOP;
         END
         $$",
    );
    drop_all.execute(sql).await?;
    Ok(())
}

impl Table {
    /// Returns an INSERT of a row of a merchant; each number gives another key.
    pub(crate) fn insert(&self, merchant: MerchantId, number: u32) -> Result<String, Failure> {
        let mut columns = String::from("merchant_id");
        let mut values = format!("'{}'", merchant.uuid());
        for (column, kind) in self.key_columns.iter().zip(&self.key_types) {
            columns = format!("{columns}, \"{column}\"");
            values = format!("{values}, '{}'", value(kind, number)?);
        }
        Ok(format!("INSERT INTO {} ({columns}) VALUES ({values})", self.name))
    }
}

/// Returns a key value as a PostgreSQL literal without quotes.
fn value(kind: &str, number: u32) -> Result<String, Failure> {
    match kind {
        "uuid" => Ok(format!("{number:032x}")),
        "smallint" | "integer" | "bigint" | "numeric" => Ok(number.to_string()),
        "text" | "character varying" => Ok(format!("row {number}")),
        "bytea" => Ok(format!("\\x{number:08x}")),
        "date" => Ok(format!("2026-11-{number:02}")),
        "timestamp with time zone" => Ok(format!("2026-11-{number:02}T08:00:00Z")),
        other => Err(format!("no test value for a key of type {other}; add one here").into()),
    }
}
