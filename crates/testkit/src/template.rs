//! Template databases.

use std::hash::{DefaultHasher, Hash, Hasher};

use database::Database;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// The initial content of a test database.
pub struct Template {
    /// Name of the content. Together with the migrations and the fingerprint it identifies the template.
    pub name: &'static str,
    /// Changes with the content.
    pub fingerprint: u64,
}

impl Template {
    /// Migrated and empty.
    pub const EMPTY: Self = Self { name: "empty", fingerprint: 0 };

    fn database_name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        (self.name, self.fingerprint, Database::schema_fingerprint()).hash(&mut hasher);
        format!("souk_template_{:016x}", hasher.finish())
    }

    /// Creates the template unless it exists; `fill` inserts the content. Tests run in separate processes, so that an
    /// advisory lock of PostgreSQL serializes them.
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
            // Filled under another name, so that a killed test leaves no incomplete template.
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

/// Returns the URL of another database on the same server.
pub(crate) fn with_database(url: &str, name: &str) -> String {
    let (server, _) = url.rsplit_once('/').expect("DATABASE_URL ends with /<database>");
    format!("{server}/{name}")
}

pub(crate) async fn connect(server: &str) -> PgConnection {
    PgConnection::connect(&with_database(server, "postgres"))
        .await
        .expect("PostgreSQL is reachable at DATABASE_URL; `just engines start` starts one")
}

pub(crate) async fn run(admin: &mut PgConnection, statement: &str) {
    let statement = AssertSqlSafe(statement.to_owned());
    sqlx::raw_sql(statement).execute(admin).await.expect("the statement succeeds");
}
