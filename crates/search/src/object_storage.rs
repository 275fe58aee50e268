//! The object store: a directory on a developer's machine, a bucket in production.

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

/// Larger files go up in parts of this size.
const PART_BYTES: usize = 8 << 20;
/// Parts under way at once.
const PARTS_MAX: usize = 4;
/// A store that does not answer is heard of soon; whoever asked tries again by itself.
const RETRIES_MAX: usize = 2;
const RETRYING_MAX: Duration = Duration::from_secs(10);

/// Where the segments lie. Cheap to clone.
#[derive(Clone)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: Key,
    address: Arc<str>,
}

impl fmt::Debug for Objects {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Objects({})", self.address)
    }
}

impl Objects {
    /// Opens `s3://bucket/prefix`, with keys and endpoint from the usual `AWS_…` variables, or a
    /// directory, by its path or as `file:///path`. A directory is made if it is not there.
    pub fn open(address: &str) -> Result<Self, IndexError> {
        let wrong = |error: &dyn fmt::Display| IndexError::Address(format!("{address}: {error}"));
        let (store, prefix): (Arc<dyn ObjectStore>, Key) =
            if let Some(place) = address.strip_prefix("s3://") {
                let prefix = place.split_once('/').map_or("", |(_, prefix)| prefix);
                let prefix = Key::parse(prefix).map_err(|error| wrong(&error))?;
                let retry = RetryConfig {
                    max_retries: RETRIES_MAX,
                    retry_timeout: RETRYING_MAX,
                    ..RetryConfig::default()
                };
                let bucket = AmazonS3Builder::from_env().with_url(address).with_retry(retry);
                (Arc::new(bucket.build().map_err(|error| wrong(&error))?), prefix)
            } else {
                let path = address.strip_prefix("file://").unwrap_or(address);
                std::fs::create_dir_all(path).map_err(|error| wrong(&error))?;
                let directory = LocalFileSystem::new_with_prefix(path);
                let directory = directory.map_err(|error| wrong(&error))?;
                (Arc::new(directory.with_automatic_cleanup(true)), Key::default())
            };
        Ok(Self { store, prefix, address: address.into() })
    }

    fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.prefix.clone(), Key::join)
    }

    /// Puts an object there, whatever was there before: names follow from contents, so that nothing
    /// but the same can have been there.
    pub(crate) async fn put(&self, name: &str, bytes: Vec<u8>) -> Result<(), IndexError> {
        self.store.put(&self.key(name), PutPayload::from(bytes)).await?;
        Ok(())
    }

    /// Puts a file there.
    pub(crate) async fn put_file(&self, name: &str, path: &Path) -> Result<(), IndexError> {
        let open =
            |error: std::io::Error| IndexError::Local(format!("{}: {error}", path.display()));
        let mut file = File::open(path).map_err(open)?;
        let bytes = file.metadata().map_err(open)?.len();
        if usize::try_from(bytes).is_ok_and(|bytes| bytes <= PART_BYTES) {
            let mut whole = Vec::new();
            file.read_to_end(&mut whole).map_err(open)?;
            return self.put(name, whole).await;
        }
        let mut upload = WriteMultipart::new_with_chunk_size(
            self.store.put_multipart(&self.key(name)).await?,
            PART_BYTES,
        );
        loop {
            let (back, part) = tokio::task::spawn_blocking(move || {
                let mut part = Vec::new();
                let limit = u64::try_from(PART_BYTES).unwrap_or(u64::MAX);
                let read = (&mut file).take(limit).read_to_end(&mut part);
                (file, read.map(|_| part))
            })
            .await?;
            file = back;
            let part = part.map_err(open)?;
            if part.is_empty() {
                break;
            }
            upload.wait_for_capacity(PARTS_MAX).await?;
            upload.put(part.into());
        }
        upload.finish().await?;
        Ok(())
    }

    /// A small object, whole.
    pub(crate) async fn bytes(&self, name: &str) -> Result<Vec<u8>, IndexError> {
        let found = self.store.get(&self.key(name)).await?;
        Ok(found.bytes().await?.to_vec())
    }

    /// Whether an object is there.
    pub(crate) async fn has(&self, name: &str) -> Result<bool, IndexError> {
        match self.store.head(&self.key(name)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Fetches an object into a file. It gets its name only when length and checksum are right, so
    /// that no half or wrong file is ever there under it.
    pub(crate) async fn fetch(
        &self,
        name: &str,
        to: &Path,
        sha256: &str,
        bytes: u64,
    ) -> Result<(), IndexError> {
        let found = self.store.get(&self.key(name)).await?;
        let part = with_suffix(to, ".part");
        let copied = copy(found, File::create(&part)?).await;
        let seen = copied.inspect_err(|_| drop(std::fs::remove_file(&part)))?;
        if seen != (sha256.to_owned(), bytes) {
            std::fs::remove_file(&part)?;
            let (digits, length) = seen;
            let what = format!("{name} has {length} of {bytes} bytes and the checksum {digits}");
            return Err(IndexError::Damaged(what));
        }
        std::fs::rename(&part, to)?;
        Ok(())
    }

    /// Whether an object is there and is what it should be, by reading all of it.
    pub(crate) async fn holds(
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

    /// The names of all objects below one.
    pub(crate) async fn list(&self, below: &str) -> Result<Vec<String>, IndexError> {
        let strip = self.prefix.as_ref();
        let found = self.store.list(Some(&self.key(below))).try_collect::<Vec<_>>().await;
        let found = match found {
            // A directory that is gone holds nothing.
            Err(object_store::Error::NotFound { .. }) => Vec::new(),
            found => found?,
        };
        let name = |key: &Key| {
            let name = key.as_ref();
            name.strip_prefix(strip).unwrap_or(name).trim_start_matches('/').to_owned()
        };
        Ok(found.iter().map(|object| name(&object.location)).collect())
    }

    /// Removes an object; one that is gone already is no fault.
    pub(crate) async fn delete(&self, name: &str) -> Result<(), IndexError> {
        match self.store.delete(&self.key(name)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Copies an object, and says what it was.
async fn copy(
    found: GetResult,
    mut to: impl Write + Send + 'static,
) -> Result<(String, u64), IndexError> {
    let mut checksum = Checksum::default();
    match found.payload {
        GetResultPayload::File(mut file, _) => {
            let copied = tokio::task::spawn_blocking(move || {
                checksum.pass(&mut file, &mut to)?;
                to.flush()?;
                Ok::<_, std::io::Error>(checksum)
            });
            checksum = copied.await??;
        }
        GetResultPayload::Stream(mut stream) => {
            while let Some(piece) = stream.next().await {
                let piece = piece?;
                checksum.add(&piece);
                to.write_all(&piece)?;
            }
            to.flush()?;
        }
    }
    Ok(checksum.finish())
}

/// The same path with something behind its name.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
