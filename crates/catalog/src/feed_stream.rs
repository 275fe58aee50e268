//! A kept feed as a stream of whatever is made of it. Reading the format is work for a thread of its
//! own; it is handed the bytes piece by piece and hands back results piece by piece, so that neither
//! side gets far ahead of the other.

use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use database::{DatabaseError, Reading};
use jobs::JobError;
use primitives::{JobId, MerchantId};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::{FeedFormat, FeedItem, FeedSettings, ReadFeed, table};

/// Pieces of bytes, and of results, that may wait.
const WAITING_MAX: usize = 2;

/// Which feed, and how it is read.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) reading: Reading,
    pub(crate) merchant: MerchantId,
    pub(crate) run: JobId,
    pub(crate) format: FeedFormat,
    pub(crate) settings: FeedSettings,
    pub(crate) read: ReadFeed,
}

/// Makes results of what a feed holds.
pub(crate) trait Make: Send + 'static {
    /// What is handed back.
    type Piece: Send + 'static;
    /// Takes an item; perhaps a piece is full.
    fn take(&mut self, item: FeedItem) -> Option<Self::Piece>;
    /// The feed has ended: what is left.
    fn end(self) -> Option<Self::Piece>;
}

/// The results, as they come.
pub(crate) struct Pieces<P> {
    results: mpsc::Receiver<P>,
    reader: Option<JoinHandle<()>>,
    bytes_read: Arc<AtomicI64>,
    /// Why the bytes could not be had. Set before the reader hears of it, so whatever it makes of the
    /// sudden end is never taken for what the feed says.
    interrupted: Arc<OnceLock<DatabaseError>>,
}

impl Feed {
    pub(crate) fn pieces<M: Make>(&self, mut make: M) -> Pieces<M::Piece> {
        let (bytes, kept) = mpsc::channel(WAITING_MAX);
        let (outbound, results) = mpsc::channel(WAITING_MAX);
        let (bytes_read, interrupted) = (Arc::default(), Arc::default());
        tokio::spawn(fetch(self.clone(), bytes, Arc::clone(&bytes_read), Arc::clone(&interrupted)));
        let (format, settings, read) = (self.format, self.settings.clone(), self.read);
        let reader = tokio::task::spawn_blocking(move || {
            let mut input = BufReader::with_capacity(64 * 1024, Kept::new(kept));
            let mut stopped = false;
            read(format, &mut input, &settings, &mut |item| {
                if let Some(piece) = make.take(item) {
                    stopped = outbound.blocking_send(piece).is_err();
                }
                if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if let Some(piece) = make.end().filter(|_| !stopped) {
                // Nobody listens any more: then nobody misses it.
                let _ = outbound.blocking_send(piece);
            }
        });
        Pieces { results, reader: Some(reader), bytes_read, interrupted }
    }
}

impl<P> Pieces<P> {
    /// The next piece; none at the end of the feed.
    pub(crate) async fn next(&mut self) -> Result<Option<P>, JobError> {
        let piece = self.results.recv().await;
        if let Some(error) = self.interrupted.get() {
            return Err(JobError::Failed(format!("the feed could not be read on: {error}")));
        }
        if piece.is_none()
            && let Some(reader) = self.reader.take()
        {
            // A reader that panicked ends its results too, and that is no end of the feed.
            reader.await.map_err(|_| JobError::Failed(String::from("the reader panicked")))?;
        }
        Ok(piece)
    }

    /// Bytes of the feed that were handed to the reader.
    pub(crate) fn bytes_read(&self) -> i64 {
        self.bytes_read.load(Ordering::Relaxed)
    }
}

/// Hands the kept bytes over until there are no more, or nobody wants them.
async fn fetch(
    feed: Feed,
    bytes: mpsc::Sender<io::Result<Vec<u8>>>,
    bytes_read: Arc<AtomicI64>,
    interrupted: Arc<OnceLock<DatabaseError>>,
) {
    for number in 0.. {
        match fetch_one(&feed, number).await {
            Ok(Some(chunk)) => {
                bytes_read.fetch_add(i64::try_from(chunk.len()).unwrap_or(0), Ordering::Relaxed);
                if bytes.send(Ok(chunk)).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                let _ = interrupted.set(error);
                let _ = bytes.send(Err(io::Error::other("interrupted"))).await;
                return;
            }
        }
    }
}

async fn fetch_one(feed: &Feed, number: i32) -> Result<Option<Vec<u8>>, DatabaseError> {
    let mut snapshot = feed.reading.open().await?;
    let chunk = table::chunk(&mut snapshot, feed.merchant, feed.run, number).await?;
    snapshot.close().await?;
    Ok(chunk)
}

/// The bytes as a reader of formats wants them.
struct Kept {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    current: Vec<u8>,
    position: usize,
}

impl Kept {
    fn new(chunks: mpsc::Receiver<io::Result<Vec<u8>>>) -> Self {
        Self { chunks, current: Vec::new(), position: 0 }
    }
}

impl Read for Kept {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.position == self.current.len() {
            match self.chunks.blocking_recv() {
                Some(chunk) => (self.current, self.position) = (chunk?, 0),
                None => return Ok(0),
            }
        }
        let mut rest = self.current.get(self.position..).unwrap_or_default();
        let length = rest.read(buffer)?;
        self.position += length;
        Ok(length)
    }
}
