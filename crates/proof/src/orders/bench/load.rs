//! Loads orders by the million: copies of two bought orders, in the order of their time, as a store's rows lie on the disk.

use std::time::Instant;

use sqlx::{AssertSqlSafe, PgConnection};

use super::operations::{AGENTS_PER_STORE, MEASURED_STORES, Workbench};
use crate::report::{Failure, grouped};

/// Orders inserted with one statement.
const BATCH: u32 = 250_000;
/// Indexes are created again after a load of at least this many orders.
const REINDEX_FROM: u32 = 500_000;
/// One of so many orders was shipped and completed with a history; the others have none.
const WITH_HISTORY: u32 = 4;
/// Orders of a store, at least.
const PER_STORE: u32 = 100;
const STORES_MAX: u32 = 10_000;

/// Returns how many stores share so many orders.
pub(super) fn stores(orders: u32) -> u32 {
    (orders / PER_STORE).clamp(u32::try_from(MEASURED_STORES).unwrap_or(1), STORES_MAX)
}

/// Adds orders to the table.
pub(super) struct Loader {
    sql: PgConnection,
    loaded: u32,
    /// The columns of `placed_order`.
    columns: Vec<String>,
}

impl Loader {
    pub(super) async fn new(workbench: &Workbench) -> Result<Self, Failure> {
        let mut sql = workbench.raw().await;
        for setting in ["max_wal_size = '8GB'", "checkpoint_timeout = '30min'", "autovacuum = off"]
        {
            let set = AssertSqlSafe(format!("ALTER SYSTEM SET {setting}"));
            sqlx::raw_sql(set).execute(&mut sql).await?;
        }
        sqlx::raw_sql("SELECT pg_reload_conf()").execute(&mut sql).await?;
        // Foreign keys hold by construction; triggers that check them would take as long as the load itself.
        let load = "SET session_replication_role = replica; SET synchronous_commit = off; SET maintenance_work_mem = '1GB';
                    SET max_parallel_maintenance_workers = 2";
        sqlx::raw_sql(load).execute(&mut sql).await?;
        let columns = "SELECT column_name::text FROM information_schema.columns WHERE table_name = 'placed_order'
                       ORDER BY ordinal_position";
        let columns = sqlx::query_scalar(columns).fetch_all(&mut sql).await?;
        // Tables of their own: without indexes, every batch would read all that is loaded to find them.
        for table in ["placed_order", "order_history", "order_fulfillment"] {
            let copy = format!(
                "CREATE TEMPORARY TABLE {table}_template AS SELECT * FROM {table} WHERE order_id = ANY ($1)"
            );
            let copy = sqlx::query(AssertSqlSafe(copy)).bind(&workbench.templates[..]);
            copy.execute(&mut sql).await?;
        }
        Ok(Self { sql, loaded: 0, columns })
    }

    /// Returns the size of the database.
    pub(super) async fn bytes(&mut self) -> Result<i64, Failure> {
        let size = "SELECT pg_database_size(current_database())";
        Ok(sqlx::query_scalar(size).fetch_one(&mut self.sql).await?)
    }

    /// Adds orders until the table has this many.
    pub(super) async fn load(&mut self, workbench: &Workbench, orders: u32) -> Result<(), Failure> {
        let stores = stores(orders);
        self.add_stores(stores).await?;
        let dropped = if orders - self.loaded >= REINDEX_FROM {
            self.drop_indexes().await?
        } else {
            Vec::new()
        };
        let since = Instant::now();
        while self.loaded < orders {
            let last = (self.loaded + BATCH).min(orders);
            self.insert(workbench, self.loaded + 1, last, stores).await?;
            self.loaded = last;
            if dropped.is_empty() {
                continue;
            }
            println!("  {} orders after {} s", grouped(last), since.elapsed().as_secs());
        }
        for definition in dropped {
            sqlx::raw_sql(AssertSqlSafe(definition)).execute(&mut self.sql).await?;
        }
        for verb in ["VACUUM ANALYZE", "CHECKPOINT"] {
            sqlx::raw_sql(verb).execute(&mut self.sql).await?;
        }
        Ok(())
    }

    /// Adds the stores that the benchmark does not call: the directory has as many as the orders name.
    async fn add_stores(&mut self, stores: u32) -> Result<(), Failure> {
        sqlx::query(
            "INSERT INTO store OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(template, jsonb_build_object(
                 'merchant_id', ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
                 'slug', 'store-' || n, 'number', 1000000 + n))).*
             FROM (SELECT store AS template FROM store ORDER BY merchant_id LIMIT 1) AS one, generate_series(0, $1 - 1) AS made (n)
             ON CONFLICT DO NOTHING",
        )
        .bind(i32::try_from(stores)?)
        .execute(&mut self.sql)
        .await?;
        Ok(())
    }

    /// Drops all indexes of the tables that are loaded, and returns the statements that create them again, in their order: ids
    /// are random, so that an index of this size is sorted many times faster than it is filled.
    async fn drop_indexes(&mut self) -> Result<Vec<String>, Failure> {
        let constraints = |condition: &str| {
            format!(
                "SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
                        format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
                 FROM pg_constraint WHERE {condition}"
            )
        };
        let loaded = "IN ('placed_order'::regclass, 'order_history'::regclass, 'order_fulfillment'::regclass)";
        let references = constraints("confrelid = 'placed_order'::regclass AND contype = 'f'");
        let keys = constraints(&format!("conrelid {loaded} AND contype IN ('p', 'u')"));
        let indexes = format!(
            "SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
             FROM pg_index WHERE indrelid {loaded}"
        );
        let mut again = Vec::new();
        for query in [references, keys, indexes] {
            let found: Vec<(String, String)> =
                sqlx::query_as(AssertSqlSafe(query)).fetch_all(&mut self.sql).await?;
            for (drop, create) in found {
                sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut self.sql).await?;
                again.push(create);
            }
        }
        again.reverse();
        Ok(again)
    }

    /// Inserts the orders with these numbers, and what belongs to them.
    async fn insert(
        &mut self,
        workbench: &Workbench,
        first: u32,
        last: u32,
        stores: u32,
    ) -> Result<(), Failure> {
        let columns: Vec<&str> = self.columns.iter().map(String::as_str).collect();
        let values: Vec<String> = columns.iter().map(|column| value(column)).collect();
        let rows = numbered(first, last, stores);
        let insert = format!(
            "INSERT INTO placed_order ({}) SELECT {} FROM {rows}, placed_order_template AS template
             WHERE template.order_id = CASE WHEN has_history THEN $1 ELSE $2 END",
            columns.join(", "),
            values.join(", "),
        );
        let [completed, pending] = workbench.templates;
        sqlx::query(AssertSqlSafe(insert))
            .bind(completed)
            .bind(pending)
            .bind(&workbench.key_ids)
            .execute(&mut self.sql)
            .await?;
        for (table, own, others) in [
            (
                "order_history",
                "",
                "sequence, kind, previous_status, status, actor, actor_id, reason, details, occurred_at",
            ),
            (
                "order_fulfillment",
                "fulfillment_id, ",
                "carrier, tracking_number, tracking_url, items, expected_by, shipped_at, delivered_at",
            ),
        ] {
            let ids = if own.is_empty() { "" } else { "gen_random_uuid(), " };
            let copy = format!(
                "INSERT INTO {table} (merchant_id, order_id, {own}{others})
                 SELECT merchant, row_id, {ids}{others} FROM {rows}, {table}_template WHERE order_id = $1 AND has_history"
            );
            sqlx::query(AssertSqlSafe(copy)).bind(completed).execute(&mut self.sql).await?;
        }
        Ok(())
    }
}

/// Returns rows for the orders with these numbers: store, ids and the position among the orders of the store.
fn numbered(first: u32, last: u32, stores: u32) -> String {
    format!(
        "(SELECT n, ('00000000-0000-4000-8000-' || lpad(to_hex(n % {stores}), 12, '0'))::uuid AS merchant,
                 md5('order' || n)::uuid AS row_id, n % {stores} AS store, n / {stores} AS position,
                 (n / {stores}) % {WITH_HISTORY} = 0 AS has_history
          FROM generate_series({first}, {last}) AS n) AS numbered"
    )
}

/// Returns the value of a column of a copy: its own id, store, key or time, or that of the template.
fn value(column: &str) -> String {
    let of_time = "template.created_at - interval '1000 days' + n * interval '8 seconds'";
    match column {
        "merchant_id" => String::from("merchant"),
        "order_id" => String::from("row_id"),
        "checkout_id" | "cart_id" => format!("md5('{column}' || n)::uuid"),
        "agent_key_id" => format!(
            "($3::uuid[])[1 + {AGENTS_PER_STORE} * (store % {MEASURED_STORES}) + position % {AGENTS_PER_STORE}]"
        ),
        "payment_reference" => String::from("'SHOP-' || n"),
        "created_at" | "updated_at" => of_time.to_owned(),
        other => format!("template.{other}"),
    }
}
