//! Uploading a feed in chunks, from a request body or a file.

use std::io::{self, Read};

use database::Database;
use jobs::IdempotencyKey;
use primitives::{FeedRunId, MerchantId};
use sha2::{Digest, Sha256};

use crate::upload_gate::UploadPermit;
use crate::{CatalogError, NewFeedRun, UploadGate, feed_run};

/// Size of a stored chunk. Each chunk is written in its own transaction, so that a slow upload keeps none open.
const CHUNK_BYTES: usize = 1024 * 1024;
/// Chunks between two checks of the free disk space.
const CHUNKS_PER_CHECK: i32 = 16;

/// Returns the SHA-256 digest that identifies the bytes of a feed.
pub fn content_hash(input: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let length = input.read(&mut buffer)?;
        if length == 0 {
            return Ok(hash.finalize().to_vec());
        }
        hash.update(buffer.get(..length).unwrap_or_default());
    }
}

/// An upload in progress. If it is dropped before its end, its feed run fails.
pub struct Upload {
    run: ReceivingRun,
    permit: UploadPermit,
    chunks: i32,
    buffer: Vec<u8>,
    total: i64,
    hash: Sha256,
}

impl Upload {
    /// Creates a feed run and starts its upload, of as many bytes as announced. Returns an error if the process receives
    /// too many uploads, if there is too little disk space, or if a quota of the store would be exceeded.
    pub async fn begin(
        database: &Database,
        gate: &UploadGate,
        merchant: MerchantId,
        request: &NewFeedRun,
        bytes_announced: Option<u64>,
    ) -> Result<Self, CatalogError> {
        let permit = gate.admit(merchant)?;
        let bytes = i64::try_from(bytes_announced.unwrap_or(0)).unwrap_or(i64::MAX);
        let run = feed_run::begin_feed_run(database, merchant, request, bytes).await?;
        Ok(Self {
            run: ReceivingRun { database: database.clone(), merchant, run: Some(run) },
            permit,
            chunks: 0,
            buffer: Vec::new(),
            total: 0,
            hash: Sha256::new(),
        })
    }

    /// Appends bytes to the feed. Returns an error if the upload takes too long or exceeds a quota of the store, after which
    /// it must be aborted.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), CatalogError> {
        self.hash.update(bytes);
        self.total += i64::try_from(bytes.len()).unwrap_or(0);
        self.permit.require_time(self.total.unsigned_abs())?;
        while !bytes.is_empty() {
            let free = CHUNK_BYTES.saturating_sub(self.buffer.len()).min(bytes.len());
            let (head, rest) = bytes.split_at(free);
            self.buffer.extend_from_slice(head);
            bytes = rest;
            if self.buffer.len() == CHUNK_BYTES {
                self.flush().await?;
            }
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), CatalogError> {
        if self.chunks % CHUNKS_PER_CHECK == 0 {
            self.permit.require_space()?;
        }
        let (database, merchant) = (&self.run.database, self.run.merchant);
        let run = self.run.run.ok_or(CatalogError::FeedRunNotFound)?;
        feed_run::receive_chunk(database, merchant, run, self.chunks, &self.buffer).await?;
        self.chunks += 1;
        self.buffer.clear();
        Ok(())
    }

    /// Completes the upload and enqueues the feed run. After an error the run fails.
    pub async fn finish(mut self) -> Result<FeedRunId, CatalogError> {
        let (run, hash) = self.flush_rest().await?;
        let (database, merchant) = (&self.run.database, self.run.merchant);
        feed_run::finish_upload(database, merchant, run, self.total, &hash).await?;
        self.run.run = None;
        Ok(run)
    }

    /// Like [`Upload::finish`], once for an idempotency key: a repetition of the same request with the same bytes returns the
    /// run of the first one, and other bytes are a conflict.
    pub async fn finish_once(mut self, mut key: IdempotencyKey) -> Result<FeedRunId, CatalogError> {
        let (run, hash) = self.flush_rest().await?;
        key.request_hash.extend_from_slice(&hash);
        key.request_hash = Sha256::digest(&key.request_hash).to_vec();
        let (database, merchant) = (&self.run.database, self.run.merchant);
        match feed_run::finish_upload_once(database, merchant, run, self.total, &hash, &key).await {
            Ok(received) => {
                self.run.run = None;
                Ok(received)
            }
            Err(CatalogError::Idempotency(error)) => {
                self.abort(&error.to_string()).await?;
                Err(error.into())
            }
            Err(error) => Err(error),
        }
    }

    /// Stores the last chunk. Returns the feed run and the hash of its bytes.
    async fn flush_rest(&mut self) -> Result<(FeedRunId, Vec<u8>), CatalogError> {
        if !self.buffer.is_empty() {
            self.flush().await?;
        }
        let run = self.run.run.ok_or(CatalogError::FeedRunNotFound)?;
        Ok((run, std::mem::take(&mut self.hash).finalize().to_vec()))
    }

    /// Aborts the upload. The feed run fails with this reason.
    pub async fn abort(mut self, reason: &str) -> Result<(), CatalogError> {
        let Some(run) = self.run.run.take() else { return Ok(()) };
        feed_run::abort_upload(&self.run.database, self.run.merchant, run, reason).await
    }
}

/// A feed run that is being received. It fails if it is dropped: when the client disconnects, the request that receives it
/// is dropped at any point.
struct ReceivingRun {
    database: Database,
    merchant: MerchantId,
    /// `None` once the upload has ended.
    run: Option<FeedRunId>,
}

impl Drop for ReceivingRun {
    fn drop(&mut self) {
        let Some(run) = self.run else { return };
        let (database, merchant) = (self.database.clone(), self.merchant);
        // Without a runtime the job that ends orphaned runs does it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let reason = "the upload was interrupted";
                let aborted = feed_run::abort_upload(&database, merchant, run, reason).await;
                if let Err(error) = aborted {
                    tracing::warn!(%merchant, %run, %error, "an interrupted upload could not be ended; a job does it later");
                }
            });
        }
    }
}
