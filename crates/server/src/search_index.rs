//! Wires the search index: its writer and its replica.

use std::sync::Arc;
use std::time::Duration;

use database::Database;
use merchants::StoreCache;
use search::{
    IndexError, ObjectStorage, ReplicaSettings, Search, SearchSettings, Tuning, WriterSettings,
};
use tokio::sync::watch;

use crate::Config;

/// Starts a replica that follows the published index, and returns the search over it.
pub(crate) fn search(
    config: &Config,
    database: &Database,
    stores: &StoreCache,
) -> Result<Search, IndexError> {
    let replica = ReplicaSettings::new(config.search_directory.clone(), objects(config)?);
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let settings = SearchSettings {
        site_url: Arc::from(config.site_url.as_str()),
        budget: Some(config.search_budget).filter(|budget| *budget > 0),
        tuning: Tuning::default(),
        concurrency: if config.search_concurrency > 0 { config.search_concurrency } else { cores },
    };
    Ok(Search::start(database.clone(), stores.clone(), replica, settings))
}

/// Returns a future that writes the index until `stopped` becomes true.
pub(crate) fn writer(
    config: &Config,
    database: Database,
    stopped: watch::Receiver<bool>,
) -> Result<impl Future<Output = ()> + Send + use<>, IndexError> {
    let mut settings = WriterSettings::new(config.search_directory.clone(), objects(config)?);
    settings.shards = config.search_shards;
    settings.lease = Duration::from_secs(config.search_lease_seconds);
    Ok(search::write(database, settings, stopped))
}

fn objects(config: &Config) -> Result<ObjectStorage, IndexError> {
    ObjectStorage::open(&config.search_objects)
}
