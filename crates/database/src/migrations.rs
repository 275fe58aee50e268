//! The migrations, embedded. `build.rs` makes cargo look at the folder again when it changes.

use sqlx::migrate::Migrator;

/// Forward-only: there is no down.
pub(crate) static MIGRATOR: Migrator = sqlx::migrate!("./migrations");
