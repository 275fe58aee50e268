//! Uploading a feed in chunks, from a request body or a file.

use std::io::{self, Read};

use database::Database;
use primitives::{FeedRunId, MerchantId};
use sha2::{Digest, Sha256};

use crate::{CatalogError, NewFeedRun, feed_run};

/// Size of a stored chunk. Each chunk is written in its own transaction, so that a slow upload keeps none open.
const CHUNK_BYTES: usize = 1024 * 1024;

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

/// An upload in progress.
pub struct Upload {
    database: Database,
    merchant: MerchantId,
    run: FeedRunId,
    chunks: i32,
    buffer: Vec<u8>,
    total: i64,
    hash: Sha256,
}

impl Upload {
    /// Creates a feed run and starts its upload.
    pub async fn begin(
        database: &Database,
        merchant: MerchantId,
        request: &NewFeedRun,
    ) -> Result<Self, CatalogError> {
        let run = feed_run::begin_feed_run(database, merchant, request).await?;
        Ok(Self {
            database: database.clone(),
            merchant,
            run,
            chunks: 0,
            buffer: Vec::new(),
            total: 0,
            hash: Sha256::new(),
        })
    }

    /// Appends bytes to the feed.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), CatalogError> {
        self.hash.update(bytes);
        self.total += i64::try_from(bytes.len()).unwrap_or(0);
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
        feed_run::receive_chunk(&self.database, self.merchant, self.run, self.chunks, &self.buffer)
            .await?;
        self.chunks += 1;
        self.buffer.clear();
        Ok(())
    }

    /// Completes the upload and enqueues the feed run.
    pub async fn finish(mut self) -> Result<FeedRunId, CatalogError> {
        if !self.buffer.is_empty() {
            self.flush().await?;
        }
        let hash = self.hash.finalize();
        feed_run::finish_upload(&self.database, self.merchant, self.run, self.total, &hash).await?;
        Ok(self.run)
    }

    /// Aborts the upload. The feed run fails with this reason.
    pub async fn abort(self, reason: &str) -> Result<(), CatalogError> {
        feed_run::abort_upload(&self.database, self.merchant, self.run, reason).await
    }
}
