//! Databases that others are copied from.

use std::hash::{DefaultHasher, Hash, Hasher};

use database::Database;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// What a test's database starts with.
pub struct Template {
    /// A name for this content. Together with the state of the migrations it names the template.
    pub name: &'static str,
    /// Bump it when the content changes.
    pub fingerprint: u64,
}

impl Template {
    /// Migrated, and nothing else.
    pub const EMPTY: Self = Self { name: "empty", fingerprint: 0 };

    fn database_name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (self.name, self.fingerprint, Database::schema_fingerprint()).hash(&mut hasher);
        format!("souk_template_{:016x}", hasher.finish())
    }

    /// Makes the template, unless it is there; `fill` puts the content in. Tests are processes of
    /// their own, so a lock in PostgreSQL decides who makes it.
    pub(crate) async fn ensure<F, Filled>(&self, server: &str, fill: F) -> String
    where
        F: FnOnce(String) -> Filled,
        Filled: Future<Output = ()>,
    {
        let name = self.database_name();
        let mut admin = connect(server).await;
        run(&mut admin, "SELECT pg_advisory_lock(7685)").await;
        let exists: bool =
            sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
                .bind(&name)
                .fetch_one(&mut admin)
                .await
                .expect("the list of databases can be read");
        if !exists {
            // Filled under another name, so that a test that is killed halfway leaves no half
            // template behind.
            let draft = format!("{name}_draft");
            run(&mut admin, &format!("DROP DATABASE IF EXISTS {draft} WITH (FORCE)")).await;
            run(&mut admin, &format!("CREATE DATABASE {draft}")).await;
            fill(with_database(server, &draft)).await;
            run(&mut admin, &format!("ALTER DATABASE {draft} RENAME TO {name}")).await;
        }
        admin.close().await.expect("the connection closes");
        name
    }
}

/// The same server, another database.
pub(crate) fn with_database(url: &str, name: &str) -> String {
    let (server, _) = url.rsplit_once('/').expect("DATABASE_URL ends with /<database>");
    format!("{server}/{name}")
}

pub(crate) async fn connect(server: &str) -> PgConnection {
    PgConnection::connect(&with_database(server, "postgres"))
        .await
        .expect("PostgreSQL answers at DATABASE_URL; `just engines start` starts one")
}

pub(crate) async fn run(admin: &mut PgConnection, statement: &str) {
    let statement = AssertSqlSafe(statement.to_owned());
    sqlx::raw_sql(statement).execute(admin).await.expect("the statement succeeds");
}
