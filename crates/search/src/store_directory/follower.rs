//! Who keeps the roster up to date.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::{Database, DatabaseError, Reading};
use jobs::{Cursor, QueueError};
use merchants::StoreError;
use primitives::MerchantId;
use tokio::sync::watch;

use super::{Roster, Stores};

/// How often the outbox is asked.
const EVERY: Duration = Duration::from_millis(500);
/// After so long without an answer everything is read again.
const GAP_MAX: Duration = Duration::from_mins(5);
/// Events, and stores, read in one go.
const BATCH: usize = 1_000;
const TOPICS: [&str; 1] = ["store.changed"];

/// Reads all stores once and follows what changes from then on. It has a cursor of its own in memory:
/// every process needs all of it, and whoever starts begins with the present.
pub(crate) struct RosterKeeper {
    reading: Reading,
    /// Where to read on; none: everything is read again.
    cursor: Option<Cursor>,
    sender: watch::Sender<Arc<Roster>>,
}

impl RosterKeeper {
    /// Starts keeping, until nobody holds the receiver any more. The first roster is stale: nothing
    /// was read yet.
    pub(crate) fn start(database: &Database) -> watch::Receiver<Arc<Roster>> {
        let (sender, receiver) = watch::channel(Arc::new(Roster::unread()));
        let reading = Reading::for_platform(database);
        tokio::spawn(Self { reading, cursor: None, sender }.keep());
        receiver
    }

    async fn keep(mut self) {
        while !self.sender.is_closed() {
            if let Err(error) = self.look().await {
                tracing::warn!(%error, "the roster of stores cannot be brought up to date");
                // An engine that is away has lost nothing. Whatever else it was, start over.
                if !error.is_away() {
                    self.cursor = None;
                }
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Brings the roster up to date once. After an error it is what it was.
    async fn look(&mut self) -> Result<(), RosterError> {
        let before = Instant::now();
        let has_gap = self.sender.borrow().age() > GAP_MAX;
        let (stores, cursor) = match &self.cursor {
            Some(cursor) if !has_gap => self.follow(cursor.clone()).await?,
            _ => self.load().await?,
        };
        self.cursor = Some(cursor);
        self.sender.send_replace(Arc::new(Roster { stores, confirmed: Some(before) }));
        Ok(())
    }

    /// The cursor is taken first: what changes during the load is read twice, and nothing is missed.
    async fn load(&self) -> Result<(Arc<Stores>, Cursor), RosterError> {
        let present = jobs::present(&self.reading).await?;
        let stores = Stores::of(merchants::roster(&self.reading).await?);
        Ok((Arc::new(stores), present))
    }

    async fn follow(&self, mut cursor: Cursor) -> Result<(Arc<Stores>, Cursor), RosterError> {
        let limit = i64::try_from(BATCH).unwrap_or(i64::MAX);
        let mut changed: BTreeSet<MerchantId> = BTreeSet::new();
        loop {
            let batch = jobs::follow_topics(&self.reading, &cursor, &TOPICS, limit).await?;
            cursor = batch.next;
            if batch.events.is_empty() {
                break;
            }
            changed.extend(batch.events.iter().map(|event| event.merchant));
        }
        let known = Arc::clone(&self.sender.borrow().stores);
        if changed.is_empty() {
            return Ok((known, cursor));
        }
        let mut stores = Stores::clone(&known);
        let changed: Vec<MerchantId> = changed.into_iter().collect();
        for merchants in changed.chunks(BATCH) {
            let mut gone: BTreeSet<MerchantId> = merchants.iter().copied().collect();
            for store in merchants::roster_of(&self.reading, merchants).await? {
                gone.remove(&store.merchant);
                stores.put(store);
            }
            for merchant in gone {
                stores.remove(merchant);
            }
        }
        Ok((Arc::new(stores), cursor))
    }
}

/// Why the roster could not be brought up to date.
#[derive(Debug, thiserror::Error)]
enum RosterError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Queue(#[from] QueueError),
}

impl RosterError {
    /// Whether only the engine was away or busy.
    fn is_away(&self) -> bool {
        let database = match self {
            Self::Store(StoreError::Database(error)) => error.as_ref(),
            Self::Queue(QueueError::Database(error)) => error,
            _ => return false,
        };
        matches!(
            database,
            DatabaseError::Unavailable(_) | DatabaseError::Contended(_) | DatabaseError::TooLong
        )
    }
}
