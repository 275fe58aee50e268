//! Reading a stored feed. The format reader is synchronous and runs on a blocking thread; bounded channels carry the
//! stored chunks to it and the results of a [`Sink`] back, so that neither side gets far ahead of the other.

use std::io::{self, BufReader, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};

use database::{DatabaseError, Reading};
use jobs::JobError;
use primitives::{FeedRunId, MerchantId};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::{FeedFormat, FeedItem, FeedSettings, ReadFeed, table};

/// Capacity of each channel.
const CHANNEL_CAPACITY: usize = 2;

/// A stored feed and how to read it.
#[derive(Clone)]
pub(crate) struct Feed {
    pub(crate) reading: Reading,
    pub(crate) merchant: MerchantId,
    pub(crate) run: FeedRunId,
    pub(crate) format: FeedFormat,
    pub(crate) settings: FeedSettings,
    pub(crate) read: ReadFeed,
}

/// Consumes the items of a feed and produces outputs.
pub(crate) trait Sink: Send + 'static {
    type Output: Send + 'static;
    /// Consumes an item. Returns an output when one is complete.
    fn push(&mut self, item: FeedItem) -> Option<Self::Output>;
    /// Returns the last output at the end of the feed.
    fn finish(self) -> Option<Self::Output>;
}

/// The outputs of a sink, as they become available.
pub(crate) struct FeedStream<T> {
    outputs: mpsc::Receiver<T>,
    reader: Option<JoinHandle<()>>,
    bytes_read: Arc<AtomicI64>,
    /// Set when chunks cannot be fetched, before the reader sees the error, so that an interrupted feed is never
    /// taken for a truncated one.
    fetch_error: Arc<OnceLock<DatabaseError>>,
}

impl Feed {
    /// Starts to read the feed into a sink.
    pub(crate) fn stream<S: Sink>(&self, mut sink: S) -> FeedStream<S::Output> {
        let (chunk_sender, chunks) = mpsc::channel(CHANNEL_CAPACITY);
        let (output_sender, outputs) = mpsc::channel(CHANNEL_CAPACITY);
        let (bytes_read, fetch_error) = (Arc::default(), Arc::default());
        let fetch = fetch_chunks(
            self.clone(),
            chunk_sender,
            Arc::clone(&bytes_read),
            Arc::clone(&fetch_error),
        );
        tokio::spawn(fetch);
        let (format, settings, read) = (self.format, self.settings.clone(), self.read);
        let reader = tokio::task::spawn_blocking(move || {
            let mut input = BufReader::with_capacity(64 * 1024, ChunkReader::new(chunks));
            let mut stopped = false;
            read(format, &mut input, &settings, &mut |item| {
                if let Some(output) = sink.push(item) {
                    stopped = output_sender.blocking_send(output).is_err();
                }
                // Nobody waits for further outputs: the rest of the feed need not be read.
                stopped |= output_sender.is_closed();
                if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            if let Some(output) = sink.finish().filter(|_| !stopped) {
                // Fails only if the stream was dropped, which needs no output.
                let _ = output_sender.blocking_send(output);
            }
        });
        FeedStream { outputs, reader: Some(reader), bytes_read, fetch_error }
    }
}

impl<T> FeedStream<T> {
    /// Returns the next output, or `None` at the end of the feed.
    pub(crate) async fn next(&mut self) -> Result<Option<T>, JobError> {
        let output = self.outputs.recv().await;
        if let Some(error) = self.fetch_error.get() {
            return Err(JobError::Failed(format!("a chunk of the feed cannot be read: {error}")));
        }
        if output.is_none()
            && let Some(reader) = self.reader.take()
        {
            // A reader that panicked closes the channel too, which is not the end of the feed.
            reader.await.map_err(|_| JobError::Failed(String::from("the feed reader panicked")))?;
        }
        Ok(output)
    }

    /// Returns how many bytes of the feed have been passed to the reader.
    pub(crate) fn bytes_read(&self) -> i64 {
        self.bytes_read.load(Ordering::Relaxed)
    }
}

/// Sends the stored chunks until there are no more or the receiver is dropped.
async fn fetch_chunks(
    feed: Feed,
    chunks: mpsc::Sender<io::Result<Vec<u8>>>,
    bytes_read: Arc<AtomicI64>,
    fetch_error: Arc<OnceLock<DatabaseError>>,
) {
    for number in 0.. {
        match fetch_chunk(&feed, number).await {
            Ok(Some(chunk)) => {
                bytes_read.fetch_add(i64::try_from(chunk.len()).unwrap_or(0), Ordering::Relaxed);
                if chunks.send(Ok(chunk)).await.is_err() {
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                let _ = fetch_error.set(error);
                let _ = chunks.send(Err(io::Error::other("interrupted"))).await;
                return;
            }
        }
    }
}

async fn fetch_chunk(feed: &Feed, number: i32) -> Result<Option<Vec<u8>>, DatabaseError> {
    feed.reading
        .run(async |sql| Ok(table::chunk(sql, feed.merchant, feed.run, number).await?))
        .await
}

/// Implements `Read` for a channel of chunks. It blocks, so that it must not be used on an async thread.
struct ChunkReader {
    chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
    current: Vec<u8>,
    position: usize,
}

impl ChunkReader {
    fn new(chunks: mpsc::Receiver<io::Result<Vec<u8>>>) -> Self {
        Self { chunks, current: Vec::new(), position: 0 }
    }
}

impl Read for ChunkReader {
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
