//! Updates the store directory from the outbox.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Database, DatabaseError, Reading};
use jobs::{Cursor, QueueError};
use merchants::StoreError;
use primitives::MerchantId;
use tokio::sync::watch;

use super::{StoreDirectory, Stores};

/// Interval between two reads of the outbox.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// After this time without a confirmation all stores are reloaded.
const GAP_MAX: Duration = Duration::from_mins(5);
/// Interval between two attempts to read a store that could not be read.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// Events, and stores, per query.
const BATCH: usize = 1_000;
const TOPICS: [&str; 1] = ["store.changed"];

/// Loads all stores once, then follows their changes. Its cursor is in memory only: every process needs every
/// change, and starts from the present.
pub(crate) struct DirectoryFollower {
    reading: Reading,
    /// `None`: all stores are reloaded.
    cursor: Option<Cursor>,
    /// Stores that could not be read. They are hidden, and tried again.
    unreadable: BTreeSet<MerchantId>,
    /// When they were last tried.
    tried_at: Instant,
    sender: watch::Sender<Arc<StoreDirectory>>,
}

impl DirectoryFollower {
    /// Starts following, until all receivers are dropped. The first directory is empty and stale.
    pub(crate) fn start(database: &Database) -> watch::Receiver<Arc<StoreDirectory>> {
        let (sender, receiver) = watch::channel(Arc::new(StoreDirectory::never_loaded()));
        let reading = Reading::for_platform(database);
        let (unreadable, tried_at) = (BTreeSet::new(), Instant::now());
        tokio::spawn(Self { reading, cursor: None, unreadable, tried_at, sender }.run());
        receiver
    }

    async fn run(mut self) {
        while !self.sender.is_closed() {
            if let Err(error) = self.update().await {
                tracing::warn!(%error, "updating the store directory failed; it is retried");
                // While the database is unavailable no change is lost. After any other error, all stores are reloaded.
                if !error.is_transient() {
                    self.cursor = None;
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Updates the directory once. After an error it is unchanged.
    async fn update(&mut self) -> Result<(), DirectoryError> {
        let before = Instant::now();
        let has_gap = self.sender.borrow().age() > GAP_MAX;
        let (stores, cursor) = match &self.cursor {
            Some(cursor) if !has_gap => self.follow(cursor.clone()).await?,
            _ => self.load().await?,
        };
        self.cursor = Some(cursor);
        self.sender.send_replace(Arc::new(StoreDirectory { stores, confirmed: Some(before) }));
        Ok(())
    }

    /// Loads all stores. The cursor is read first: changes during the load are read twice, and none is missed.
    async fn load(&mut self) -> Result<(Arc<Stores>, Cursor), DirectoryError> {
        let present = jobs::latest_cursor(&self.reading).await?;
        let read = merchants::all_stores(&self.reading).await?;
        self.unreadable = read.unreadable.into_iter().collect();
        Ok((Arc::new(Stores::new(read.stores)), present))
    }

    async fn follow(
        &mut self,
        mut cursor: Cursor,
    ) -> Result<(Arc<Stores>, Cursor), DirectoryError> {
        let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let mut changed: BTreeSet<MerchantId> = BTreeSet::new();
        if self.tried_at.elapsed() > RETRY_INTERVAL {
            self.tried_at = Instant::now();
            changed.extend(&self.unreadable);
        }
        loop {
            let batch = jobs::read_topics(&self.reading, &cursor, &TOPICS, limit).await?;
            cursor = batch.next;
            if batch.events.is_empty() {
                break;
            }
            changed.extend(batch.events.iter().map(|event| event.merchant));
        }
        let current = Arc::clone(&self.sender.borrow().stores);
        if changed.is_empty() {
            return Ok((current, cursor));
        }
        let mut stores = Stores::clone(&current);
        let changed: Vec<MerchantId> = changed.into_iter().collect();
        for merchants in changed.chunks(BATCH) {
            let mut removed: BTreeSet<MerchantId> = merchants.iter().copied().collect();
            let read = merchants::stores_of(&self.reading, merchants).await?;
            for store in read.stores {
                removed.remove(&store.merchant);
                stores.insert(store);
            }
            for merchant in removed {
                stores.remove(merchant);
            }
            self.unreadable.retain(|merchant| !merchants.contains(merchant));
            self.unreadable.extend(read.unreadable);
        }
        Ok((Arc::new(stores), cursor))
    }
}

/// A failure to update the store directory.
#[derive(Debug, thiserror::Error)]
enum DirectoryError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl DirectoryError {
    /// Returns whether the database was only unavailable or busy.
    fn is_transient(&self) -> bool {
        let database = match self {
            Self::Store(StoreError::Database(error)) => error.as_ref(),
            Self::Queue(QueueError::Database(error)) => error,
            _ => return false,
        };
        matches!(
            database,
            DatabaseError::Unavailable(_)
                | DatabaseError::Contended(_)
                | DatabaseError::TransactionTimeout
        )
    }
}
