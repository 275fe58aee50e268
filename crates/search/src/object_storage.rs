//! Object storage of the published index: a directory on a developer's machine, a bucket in production.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as Key;
use object_store::{
    GetResult, GetResultPayload, ObjectStore, ObjectStoreExt, PutPayload, RetryConfig,
    WriteMultipart,
};

use crate::IndexError;
use crate::checksum::Checksum;

/// Larger files are uploaded in parts of this size.
const PART_BYTES: usize = 8 << 20;
/// Parts uploaded concurrently.
const PARTS_MAX: usize = 4;
/// Few, so that an unavailable store is noticed soon; callers retry themselves.
const RETRIES_MAX: usize = 2;
const RETRYING_MAX: Duration = Duration::from_secs(10);

/// Object storage below a prefix. Cheap to clone.
#[derive(Clone)]
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    address: Arc<str>,
}

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ObjectStorage({})", self.address)
    }
}

impl ObjectStorage {
    /// Opens `s3://bucket/prefix`, with credentials and endpoint from the usual `AWS_…` variables, or a directory, by
    /// its path or as `file:///path`. A missing directory is created.
    pub fn open(address: &str) -> Result<Self, IndexError> {
        let invalid = |error: &dyn fmt::Display| IndexError::Address(format!("{address}: {error}"));
        let (store, prefix): (Arc<dyn ObjectStore>, Key) =
            if let Some(location) = address.strip_prefix("s3://") {
                let prefix = location.split_once('/').map_or("", |(_, prefix)| prefix);
                let prefix = Key::parse(prefix).map_err(|error| invalid(&error))?;
                let retry = RetryConfig {
                    max_retries: RETRIES_MAX,
                    retry_timeout: RETRYING_MAX,
                    ..RetryConfig::default()
                };
                let bucket = AmazonS3Builder::from_env().with_url(address).with_retry(retry);
                (Arc::new(bucket.build().map_err(|error| invalid(&error))?), prefix)
            } else {
                let path = address.strip_prefix("file://").unwrap_or(address);
                std::fs::create_dir_all(path).map_err(|error| invalid(&error))?;
                let directory = LocalFileSystem::new_with_prefix(path);
                let directory = directory.map_err(|error| invalid(&error))?;
                (Arc::new(directory.with_automatic_cleanup(true)), Key::default())
            };
        Ok(Self { store, prefix, address: address.into() })
    }

    fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.prefix.clone(), Key::join)
    }

    /// Uploads an object and replaces an existing one: names are derived from the content, so that both are equal.
    pub(crate) async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), IndexError> {
        self.store.put(&self.key(name), PutPayload::from(bytes)).await?;
        Ok(())
    }

    /// Uploads a file.
    pub(crate) async fn put_file(&self, name: &str, path: &Path) -> Result<(), IndexError> {
        let local =
            |error: std::io::Error| IndexError::LocalFile(format!("{}: {error}", path.display()));
        let mut file = File::open(path).map_err(local)?;
        let bytes = file.metadata().map_err(local)?.len();
        if usize::try_from(bytes).is_ok_and(|bytes| bytes <= PART_BYTES) {
            let mut whole = Vec::new();
            file.read_to_end(&mut whole).map_err(local)?;
            return self.put(name, whole).await;
        }
        let mut upload = WriteMultipart::new_with_chunk_size(
            self.store.put_multipart(&self.key(name)).await?,
            PART_BYTES,
        );
        loop {
            let (returned, part) = tokio::task::spawn_blocking(move || {
                let mut part = Vec::new();
                let limit = u64::try_from(PART_BYTES).unwrap_or(u64::MAX);
                let read = (&mut file).take(limit).read_to_end(&mut part);
                (file, read.map(|_| part))
            })
            .await?;
            file = returned;
            let part = part.map_err(local)?;
            if part.is_empty() {
                break;
            }
            upload.wait_for_capacity(PARTS_MAX).await?;
            upload.put(part.into());
        }
        upload.finish().await?;
        Ok(())
    }

    /// Downloads a small object into memory.
    pub(crate) async fn get(&self, name: &str) -> Result<Vec<u8>, IndexError> {
        let found = self.store.get(&self.key(name)).await?;
        Ok(found.bytes().await?.to_vec())
    }

    /// Returns whether an object exists.
    pub(crate) async fn exists(&self, name: &str) -> Result<bool, IndexError> {
        match self.store.head(&self.key(name)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Downloads an object to a file. The file gets its final name only after length and checksum are verified, so
    /// that it is never incomplete or wrong.
    pub(crate) async fn download(
        &self,
        name: &str,
        to: &Path,
        sha256: &str,
        bytes: u64,
    ) -> Result<(), IndexError> {
        let found = self.store.get(&self.key(name)).await?;
        let part = with_suffix(to, ".part");
        let copied = copy(found, File::create(&part)?).await;
        let copied = copied.inspect_err(|_| drop(std::fs::remove_file(&part)))?;
        if copied != (sha256.to_owned(), bytes) {
            std::fs::remove_file(&part)?;
            let (checksum, length) = copied;
            let message = format!("{name} has {length} of {bytes} bytes and checksum {checksum}");
            return Err(IndexError::Damaged(message));
        }
        std::fs::rename(&part, to)?;
        Ok(())
    }

    /// Returns whether an object exists and has this checksum and length. Reads all of it.
    pub(crate) async fn matches(
        &self,
        name: &str,
        sha256: &str,
        bytes: u64,
    ) -> Result<bool, IndexError> {
        match self.store.get(&self.key(name)).await {
            Ok(found) if found.meta.size != bytes => Ok(false),
            Ok(found) => Ok(copy(found, std::io::sink()).await?.0 == sha256),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the names of all objects below a prefix.
    pub(crate) async fn list(&self, prefix: &str) -> Result<Vec<String>, IndexError> {
        let strip = self.prefix.as_ref();
        let found = self.store.list(Some(&self.key(prefix))).try_collect::<Vec<_>>().await;
        let found = match found {
            // A missing directory is empty.
            Err(object_store::Error::NotFound { .. }) => Vec::new(),
            found => found?,
        };
        let name = |key: &Key| {
            let name = key.as_ref();
            name.strip_prefix(strip).unwrap_or(name).trim_start_matches('/').to_owned()
        };
        Ok(found.iter().map(|object| name(&object.location)).collect())
    }

    /// Deletes an object. Succeeds if it does not exist.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), IndexError> {
        match self.store.delete(&self.key(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Copies an object, and returns its checksum and length.
async fn copy(
    found: GetResult,
    mut to: impl Write + Send + 'static,
) -> Result<(String, u64), IndexError> {
    let mut checksum = Checksum::default();
    match found.payload {
        GetResultPayload::File(mut file, _) => {
            let copied = tokio::task::spawn_blocking(move || {
                checksum.copy(&mut file, &mut to)?;
                to.flush()?;
                Ok::<_, std::io::Error>(checksum)
            });
            checksum = copied.await??;
        }
        GetResultPayload::Stream(mut stream) => {
            while let Some(piece) = stream.next().await {
                let piece = piece?;
                checksum.update(&piece);
                to.write_all(&piece)?;
            }
            to.flush()?;
        }
    }
    Ok(checksum.finish())
}

/// Returns the path with a suffix appended to its file name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
