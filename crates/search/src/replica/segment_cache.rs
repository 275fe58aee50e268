//! The local cache of published files, stored under their checksums.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use futures::{StreamExt, TryStreamExt, stream};
use tantivy::directory::MmapDirectory;
use tantivy::{Index, ReloadPolicy};

use super::manifest_directory::ManifestDirectory;
use crate::IndexError;
use crate::checksum;
use crate::columns::OpenIndex;
use crate::manifest::{Manifest, ManifestFile, ShardId};
use crate::object_storage::{ObjectStorage, with_suffix};

/// Files downloaded concurrently.
const DOWNLOADS: usize = 8;

/// A cache of index files and manifests.
pub(super) struct SegmentCache {
    files: PathBuf,
    manifests: PathBuf,
    objects: ObjectStorage,
    mapped: RwLock<MmapDirectory>,
    /// Lengths of the verified files, by checksum.
    verified: Mutex<HashMap<String, u64>>,
    /// Held while a file is downloaded, by checksum: a file is downloaded once, however many versions and shards need it.
    downloads: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
}

impl SegmentCache {
    pub(super) fn open(directory: &Path, objects: ObjectStorage) -> Result<Self, IndexError> {
        let (files, manifests) = (directory.join("files"), directory.join("manifests"));
        fs::create_dir_all(&files)?;
        fs::create_dir_all(&manifests)?;
        let mapped = RwLock::new(map(&files)?);
        let (verified, downloads) = (Mutex::default(), Mutex::default());
        Ok(Self { files, manifests, objects, mapped, verified, downloads })
    }

    fn verified(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Downloads a published version: its manifest, and every file that is missing or invalid.
    pub(super) async fn pull(
        &self,
        shard_id: ShardId,
        sha256: &str,
    ) -> Result<Manifest, IndexError> {
        let manifest = if let Ok(manifest) = self.manifest(shard_id, sha256) {
            manifest
        } else {
            let bytes = self.objects.get(&shard_id.manifest_key(sha256)).await?;
            let manifest = Manifest::decode(shard_id, sha256, &bytes)?;
            write(&self.manifests.join(sha256), &bytes)?;
            manifest
        };
        let files = stream::iter(manifest.files.clone());
        let downloads = files.map(|file| self.download(file)).buffer_unordered(DOWNLOADS);
        downloads.try_collect::<()>().await?;
        Ok(manifest)
    }

    /// Returns a manifest that is in the cache.
    pub(super) fn manifest(&self, shard_id: ShardId, sha256: &str) -> Result<Manifest, IndexError> {
        Manifest::decode(shard_id, sha256, &fs::read(self.manifests.join(sha256))?)
    }

    fn downloads(&self) -> MutexGuard<'_, HashMap<String, Arc<tokio::sync::Mutex<()>>>> {
        self.downloads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Downloads a file, if it is missing or invalid.
    pub(super) async fn download(&self, file: ManifestFile) -> Result<(), IndexError> {
        let download = Arc::clone(self.downloads().entry(file.sha256.clone()).or_default());
        let held = download.lock().await;
        let downloaded = self.download_alone(&file).await;
        drop(held);
        let mut downloads = self.downloads();
        // The map and this call have it: nobody else waits.
        if Arc::strong_count(&download) == 2 {
            downloads.remove(&file.sha256);
        }
        downloaded
    }

    async fn download_alone(&self, file: &ManifestFile) -> Result<(), IndexError> {
        if self.verified().get(&file.sha256) == Some(&file.bytes) {
            return Ok(());
        }
        let path = self.files.join(&file.sha256);
        let (found, sha256, bytes) = (path.clone(), file.sha256.clone(), file.bytes);
        let is_valid = move || checksum::matches(&found, &sha256, bytes);
        if !tokio::task::spawn_blocking(is_valid).await? {
            self.objects.download(&file.key, &path, &file.sha256, file.bytes).await?;
        }
        self.verified().insert(file.sha256.clone(), file.bytes);
        Ok(())
    }

    /// Verifies every file of a manifest. Blocks.
    pub(super) fn verify(&self, manifest: &Manifest) -> Result<(), IndexError> {
        for file in &manifest.files {
            if !checksum::matches(&self.files.join(&file.sha256), &file.sha256, file.bytes) {
                return Err(IndexError::LocalFile(format!(
                    "{} is missing or damaged",
                    file.sha256
                )));
            }
            self.verified().insert(file.sha256.clone(), file.bytes);
        }
        Ok(())
    }

    /// Opens a version whose files are all in the cache. Blocks.
    pub(super) fn open_index(&self, manifest: &Manifest) -> Result<OpenIndex, IndexError> {
        let mapped = self.mapped.read().unwrap_or_else(PoisonError::into_inner).clone();
        let index = Index::open(ManifestDirectory::new(mapped, manifest))?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(OpenIndex::new(reader.searcher())?)
    }

    /// Returns the verified files that are missing or changed since: by length, or, with `full`, by checksum. They are
    /// removed from the cache. Blocks.
    pub(super) fn evict_damaged(&self, full: bool) -> Result<HashSet<String>, IndexError> {
        let verified = self.verified().clone();
        let is_damaged = |(sha256, bytes): &(String, u64)| {
            let path = self.files.join(sha256);
            let is_valid = if full {
                checksum::matches(&path, sha256, *bytes)
            } else {
                fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == *bytes)
            };
            !is_valid
        };
        let damaged: HashSet<String> =
            verified.into_iter().filter(is_damaged).map(|(sha256, _)| sha256).collect();
        if !damaged.is_empty() {
            fs::create_dir_all(&self.files)?;
            fs::create_dir_all(&self.manifests)?;
            // The old directory keeps its mappings by name; only a new one opens the files again.
            let mapped = map(&self.files)?;
            *self.mapped.write().unwrap_or_else(PoisonError::into_inner) = mapped;
            let mut verified = self.verified();
            for sha256 in &damaged {
                // Removed instead of overwritten: existing mappings stay valid.
                let _ = fs::remove_file(self.files.join(sha256));
                verified.remove(sha256);
            }
        }
        Ok(damaged)
    }

    /// Deletes all files and manifests except those of these versions, and their upcoming files. Open files stay readable.
    /// Blocks.
    pub(super) fn purge<'version>(
        &self,
        in_use: &'version [(String, Manifest)],
    ) -> Result<(), IndexError> {
        let files = |(_, manifest): &'version (String, Manifest)| {
            manifest.files.iter().chain(&manifest.upcoming)
        };
        let files = in_use.iter().flat_map(files);
        let files: HashSet<&str> = files.map(|file| file.sha256.as_str()).collect();
        let manifests: HashSet<&str> = in_use.iter().map(|(sha256, _)| sha256.as_str()).collect();
        self.verified().retain(|sha256, _| files.contains(sha256.as_str()));
        for (directory, names) in [(&self.files, files), (&self.manifests, manifests)] {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                if !entry.file_name().to_str().is_some_and(|name| names.contains(name)) {
                    fs::remove_file(entry.path())?;
                }
            }
        }
        Ok(())
    }
}

fn map(files: &Path) -> Result<MmapDirectory, IndexError> {
    Ok(MmapDirectory::open(files).map_err(tantivy::TantivyError::from)?)
}

/// Writes a file atomically.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = with_suffix(path, ".part");
    fs::write(&part, bytes)?;
    fs::rename(part, path)
}
