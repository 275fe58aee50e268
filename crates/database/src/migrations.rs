//! The embedded migrations. `build.rs` makes cargo rebuild the crate when the folder changes.

use sqlx::migrate::Migrator;

/// All migrations; forward-only.
pub(crate) static MIGRATOR: Migrator = sqlx::migrate!("./migrations");
