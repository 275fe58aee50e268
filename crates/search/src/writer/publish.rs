//! Publishing: files first, then the manifest that names them, then the row that names the manifest.
//! Readers follow the row, so they never see a state of which something is missing.

use std::time::Instant;

use database::Work;
use futures::{StreamExt, TryStreamExt, stream};
use jobs::QueueError;

use super::shard::Shard;
use crate::IndexError;
use crate::checksum;
use crate::languages;
use crate::manifest::{Manifest, ManifestFile};
use crate::schema::FORMAT;
use crate::table::{self, Publication};

/// Files brought to the object store side by side.
const UPLOADS: usize = 8;

impl Shard<'_> {
    /// Commits what is not committed and puts it in force.
    pub(super) async fn publish(&mut self, is_mended: bool) -> Result<(), IndexError> {
        self.is_unpublished = true;
        if self.is_changed {
            let cursor = self.cursor.clone();
            self.blocking(move |local| local.commit(&cursor)).await?;
            self.is_changed = false;
        }
        let committed = self.blocking(|local| local.committed()).await?;
        let mut files = self.bring(committed.names.clone()).await?;
        files.push(self.bring_languages().await?);
        self.known = files.iter().map(|file| (file.name.clone(), file.clone())).collect();
        let manifest = Manifest {
            format: FORMAT,
            place: self.lease.place,
            version: self.version + 1,
            meta: committed.meta.clone(),
            files,
            cursor: self.cursor.clone(),
            documents: committed.documents,
        };
        let (sha256, bytes) = manifest.encode()?;
        self.settings.objects.put(&manifest.place.manifest_key(&sha256), bytes).await?;
        self.put_in_force(&sha256, is_mended).await?;
        self.version += 1;
        self.named = self.cursor.clone();
        self.is_unpublished = false;
        self.published_at = Instant::now();
        metrics::counter!("souk_search_publications_total").increment(1);
        let shard = manifest.place.shard.to_string();
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        metrics::gauge!("souk_search_documents", "shard" => shard).set(manifest.documents as f64);
        self.published = Some((sha256, manifest));
        Ok(())
    }

    /// The one step that counts: the row and the cursor move together, if the lease still holds.
    async fn put_in_force(&self, sha256: &str, is_mended: bool) -> Result<(), IndexError> {
        let place = self.lease.place;
        let mut work = Work::for_platform(&self.database).await?;
        let moment = work.moment().await?;
        let publication = Publication {
            place,
            token: self.lease.token,
            built_on: self.version,
            manifest: sha256,
            is_mended,
        };
        if !table::publish(&mut work, &publication, moment).await? {
            return Err(IndexError::LeaseLost);
        }
        advance(&mut work, &place.cursor_name(), &self.named, &self.cursor).await?;
        work.commit().await?;
        Ok(())
    }

    /// Moves the cursor alone: nothing that was read since the last publication concerned the shard.
    pub(super) async fn step_cursor(&mut self) -> Result<(), IndexError> {
        if self.named == self.cursor {
            return Ok(());
        }
        let place = self.lease.place;
        let mut work = Work::for_platform(&self.database).await?;
        if !table::step_lease(&mut work, place, self.lease.token).await? {
            return Err(IndexError::LeaseLost);
        }
        advance(&mut work, &place.cursor_name(), &self.named, &self.cursor).await?;
        work.commit().await?;
        self.named = self.cursor.clone();
        Ok(())
    }

    /// Sees to it that files are in the object store.
    async fn bring(&self, names: Vec<String>) -> Result<Vec<ManifestFile>, IndexError> {
        let brought = stream::iter(names).map(|name| self.bring_file(name)).buffered(UPLOADS);
        brought.try_collect().await
    }

    async fn bring_file(&self, name: String) -> Result<ManifestFile, IndexError> {
        if let Some(known) = self.known.get(&name) {
            return Ok(known.clone());
        }
        let path = self.directory.join(&name);
        let summed = path.clone();
        let summed = tokio::task::spawn_blocking(move || checksum::of_file(&summed)).await?;
        let (sha256, bytes) =
            summed.map_err(|error| IndexError::Local(format!("{}: {error}", path.display())))?;
        let key = self.lease.place.file_key(&sha256);
        self.settings.objects.put_file(&key, &path).await?;
        Ok(ManifestFile { name, key, bytes, sha256 })
    }

    /// The same for what the documents of each store were made for.
    async fn bring_languages(&self) -> Result<ManifestFile, IndexError> {
        let encoded = self.blocking(|local| local.languages.encode()).await?;
        let sha256 = checksum::of_bytes(&encoded);
        if let Some(known) = self.known.get(languages::FILE_NAME)
            && known.sha256 == sha256
        {
            return Ok(known.clone());
        }
        let key = self.lease.place.file_key(&sha256);
        let bytes = u64::try_from(encoded.len()).unwrap_or(u64::MAX);
        // Beside the segments too, so that a restart finds it here.
        std::fs::write(self.directory.join(languages::FILE_NAME), &encoded)?;
        self.settings.objects.put(&key, encoded).await?;
        Ok(ManifestFile { name: String::from(languages::FILE_NAME), key, bytes, sha256 })
    }

    /// Whether merges have changed what the committed documents lie in.
    pub(super) async fn is_merged(&self) -> Result<bool, IndexError> {
        let committed = self.blocking(|local| local.committed()).await?;
        Ok(committed.names.iter().any(|name| !self.known.contains_key(name)))
    }

    /// Whether the manifest in force is gone: the quickest sign that objects were deleted.
    pub(super) async fn is_lost(&self) -> Result<bool, IndexError> {
        let Some((sha256, manifest)) = &self.published else { return Ok(false) };
        Ok(!self.settings.objects.has(&manifest.place.manifest_key(sha256)).await?)
    }

    /// Looks at every object of what is in force, brings those again that are missing or wrong, and
    /// publishes. Only what is still right here is brought; else the shard is given up, and whoever
    /// takes it next fills it anew.
    pub(super) async fn mend(&mut self) -> Result<(), IndexError> {
        let place = self.lease.place;
        let known: Vec<ManifestFile> = self.known.values().cloned().collect();
        let mut damaged = 0_u64;
        for file in known {
            if self.settings.objects.holds(&file.key, &file.sha256, file.bytes).await? {
                continue;
            }
            let path = self.directory.join(&file.name);
            let (sha256, bytes) = (file.sha256.clone(), file.bytes);
            let holds = move || checksum::holds(&path, &sha256, bytes);
            if !tokio::task::spawn_blocking(holds).await? {
                return Err(IndexError::Local(format!("{} is not here either", file.name)));
            }
            self.known.remove(&file.name);
            damaged += 1;
        }
        metrics::counter!("souk_search_damage_total").increment(damaged.max(1));
        tracing::warn!(?place, damaged, "what is published is mended");
        self.publish(true).await?;
        self.lease.note_mended();
        Ok(())
    }
}

async fn advance(
    work: &mut Work,
    name: &str,
    from: &jobs::Cursor,
    to: &jobs::Cursor,
) -> Result<(), IndexError> {
    match jobs::advance(work, name, from, to).await {
        // Only the holder of the lease moves it.
        Err(QueueError::CursorMoved(_)) => Err(IndexError::LeaseLost),
        moved => Ok(moved?),
    }
}
