//! The files of published states on this machine, called by their checksums.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};

use futures::{StreamExt, TryStreamExt, stream};
use tantivy::directory::MmapDirectory;
use tantivy::{Index, ReloadPolicy};

use super::published::Published;
use crate::IndexError;
use crate::checksum;
use crate::columns::OpenIndex;
use crate::manifest::{Manifest, ManifestFile, Place};
use crate::objects::{Objects, with_suffix};

/// Files fetched side by side.
const FETCHES: usize = 8;

/// The files, and which of them were found right.
pub(super) struct Shelf {
    files: PathBuf,
    manifests: PathBuf,
    objects: Objects,
    mapped: RwLock<MmapDirectory>,
    /// Those that were checked, with their lengths.
    checked: Mutex<HashMap<String, u64>>,
}

impl Shelf {
    pub(super) fn open(directory: &Path, objects: Objects) -> Result<Self, IndexError> {
        let (files, manifests) = (directory.join("files"), directory.join("manifests"));
        fs::create_dir_all(&files)?;
        fs::create_dir_all(&manifests)?;
        let mapped = RwLock::new(map(&files)?);
        Ok(Self { files, manifests, objects, mapped, checked: Mutex::default() })
    }

    fn checked(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.checked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings a published state here: its manifest, and every file that is not here and right.
    pub(super) async fn pull(&self, place: Place, sha256: &str) -> Result<Manifest, IndexError> {
        let manifest = if let Ok(manifest) = self.manifest(place, sha256) {
            manifest
        } else {
            let bytes = self.objects.bytes(&place.manifest_key(sha256)).await?;
            let manifest = Manifest::decode(place, sha256, &bytes)?;
            write(&self.manifests.join(sha256), &bytes)?;
            manifest
        };
        let files = stream::iter(manifest.files.clone());
        let fetches = files.map(|file| self.fetch(place, file)).buffer_unordered(FETCHES);
        fetches.try_collect::<()>().await?;
        Ok(manifest)
    }

    /// A manifest that is here already.
    pub(super) fn manifest(&self, place: Place, sha256: &str) -> Result<Manifest, IndexError> {
        Manifest::decode(place, sha256, &fs::read(self.manifests.join(sha256))?)
    }

    async fn fetch(&self, place: Place, file: ManifestFile) -> Result<(), IndexError> {
        if self.checked().get(&file.sha256) == Some(&file.bytes) {
            return Ok(());
        }
        let path = self.files.join(&file.sha256);
        let (found, sha256, bytes) = (path.clone(), file.sha256.clone(), file.bytes);
        let is_here = move || checksum::holds(&found, &sha256, bytes);
        if !tokio::task::spawn_blocking(is_here).await? {
            // Two shards may want the same bytes at once: each brings its own and the last stays.
            let own = with_suffix(&path, &format!(".{}-{}", place.generation, place.shard));
            self.objects.fetch(&file.key, &own, &file.sha256, file.bytes).await?;
            fs::rename(own, &path)?;
        }
        self.checked().insert(file.sha256, file.bytes);
        Ok(())
    }

    /// Checks every file of a manifest that should be here already. Blocks.
    pub(super) fn check(&self, manifest: &Manifest) -> Result<(), IndexError> {
        for file in &manifest.files {
            if !checksum::holds(&self.files.join(&file.sha256), &file.sha256, file.bytes) {
                return Err(IndexError::Local(format!("{} is missing or wrong", file.sha256)));
            }
            self.checked().insert(file.sha256.clone(), file.bytes);
        }
        Ok(())
    }

    /// Opens a state whose files are all here. Blocks.
    pub(super) fn open_index(&self, manifest: &Manifest) -> Result<OpenIndex, IndexError> {
        let mapped = self.mapped.read().unwrap_or_else(PoisonError::into_inner).clone();
        let index = Index::open(Published::new(mapped, manifest))?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(OpenIndex::new(reader.searcher())?)
    }

    /// The files that were right and are gone or changed: by their lengths, or by all their bytes.
    /// They count as not here from now on. Blocks.
    pub(super) fn spoilt(&self, in_full: bool) -> Result<HashSet<String>, IndexError> {
        let checked = self.checked().clone();
        let is_spoilt = |(sha256, bytes): &(String, u64)| {
            let path = self.files.join(sha256);
            let is_right = if in_full {
                checksum::holds(&path, sha256, *bytes)
            } else {
                fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() == *bytes)
            };
            !is_right
        };
        let spoilt: HashSet<String> =
            checked.into_iter().filter(is_spoilt).map(|(sha256, _)| sha256).collect();
        if !spoilt.is_empty() {
            fs::create_dir_all(&self.files)?;
            fs::create_dir_all(&self.manifests)?;
            // What is mapped stays mapped under its name; only a new map looks at the files again.
            let mapped = map(&self.files)?;
            *self.mapped.write().unwrap_or_else(PoisonError::into_inner) = mapped;
            let mut checked = self.checked();
            for sha256 in &spoilt {
                // Removed and not overwritten: who has it mapped keeps what it has.
                let _ = fs::remove_file(self.files.join(sha256));
                checked.remove(sha256);
            }
        }
        Ok(spoilt)
    }

    /// Removes everything that these states do not need. Who has it open keeps it. Blocks.
    pub(super) fn sweep(&self, kept: &[(String, Manifest)]) -> Result<(), IndexError> {
        let files = kept.iter().flat_map(|(_, manifest)| manifest.files.iter());
        let files: HashSet<&str> = files.map(|file| file.sha256.as_str()).collect();
        let manifests: HashSet<&str> = kept.iter().map(|(sha256, _)| sha256.as_str()).collect();
        self.checked().retain(|sha256, _| files.contains(sha256.as_str()));
        for (directory, kept) in [(&self.files, files), (&self.manifests, manifests)] {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                if !entry.file_name().to_str().is_some_and(|name| kept.contains(name)) {
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

/// Writes a file that is whole or not there.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = with_suffix(path, ".part");
    fs::write(&part, bytes)?;
    fs::rename(part, path)
}
