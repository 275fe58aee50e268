//! Taking a feed in, piece by piece, from whoever has it: a request's body or a file.

use std::io::{self, Read};

use database::Database;
use primitives::{JobId, MerchantId};
use sha2::{Digest, Sha256};

use crate::{CatalogError, NewRun, run};

/// Bytes kept in one row. Each piece is a work of its own, so that a slow upload holds nothing.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The hash under which the bytes of a feed are known.
pub fn content_hash(input: &mut dyn Read) -> io::Result<Vec<u8>> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        let length = input.read(&mut piece)?;
        if length == 0 {
            return Ok(hash.finalize().to_vec());
        }
        hash.update(piece.get(..length).unwrap_or_default());
    }
}

/// A feed on its way in.
pub struct Upload {
    database: Database,
    merchant: MerchantId,
    run: JobId,
    chunks: i32,
    waiting: Vec<u8>,
    total: i64,
    hash: Sha256,
}

impl Upload {
    /// Opens a run for it.
    pub async fn begin(
        database: &Database,
        merchant: MerchantId,
        asked: &NewRun,
    ) -> Result<Self, CatalogError> {
        let run = run::begin_run(database, merchant, asked).await?;
        Ok(Self {
            database: database.clone(),
            merchant,
            run,
            chunks: 0,
            waiting: Vec::new(),
            total: 0,
            hash: Sha256::new(),
        })
    }

    /// Takes more bytes.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), CatalogError> {
        self.hash.update(bytes);
        self.total += i64::try_from(bytes.len()).unwrap_or(0);
        while !bytes.is_empty() {
            let room = CHUNK_BYTES.saturating_sub(self.waiting.len()).min(bytes.len());
            let (now, later) = bytes.split_at(room);
            self.waiting.extend_from_slice(now);
            bytes = later;
            if self.waiting.len() == CHUNK_BYTES {
                self.keep().await?;
            }
        }
        Ok(())
    }

    async fn keep(&mut self) -> Result<(), CatalogError> {
        run::receive(&self.database, self.merchant, self.run, self.chunks, &self.waiting).await?;
        self.chunks += 1;
        self.waiting.clear();
        Ok(())
    }

    /// That was all of it: a worker will take it.
    pub async fn finish(mut self) -> Result<JobId, CatalogError> {
        if !self.waiting.is_empty() {
            self.keep().await?;
        }
        let hash = self.hash.finalize();
        run::accept(&self.database, self.merchant, self.run, self.total, &hash).await?;
        Ok(self.run)
    }

    /// The rest will not come.
    pub async fn break_off(self, reason: &str) -> Result<(), CatalogError> {
        run::give_up(&self.database, self.merchant, self.run, reason).await
    }
}
