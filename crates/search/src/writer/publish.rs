//! Publishes a shard: first its files, then the manifest that references them, then the row that references the
//! manifest. Readers follow the row, so that they never see an incomplete version.

use std::time::Instant;

use database::Work;
use futures::{StreamExt, TryStreamExt, stream};
use jobs::QueueError;

use super::shard_writer::ShardWriter;
use super::written_files::FileState;
use crate::IndexError;
use crate::checksum;
use crate::indexed_languages;
use crate::manifest::{Manifest, ManifestFile};
use crate::schema::FORMAT;
use crate::table::{self, Publication};

/// Files uploaded concurrently.
const UPLOADS: usize = 8;

impl ShardWriter<'_> {
    /// Commits pending changes and publishes a new version.
    pub(super) async fn publish(&mut self, is_repaired: bool) -> Result<(), IndexError> {
        self.is_unpublished = true;
        if self.is_changed {
            let cursor = self.cursor.clone();
            self.blocking(move |working_copy| working_copy.commit(&cursor)).await?;
            self.is_changed = false;
        }
        let committed = self.blocking(|working_copy| working_copy.committed()).await?;
        let mut files = self.upload_all(committed.names.clone()).await?;
        files.push(self.upload_languages().await?);
        self.uploaded = files.iter().map(|file| (file.name.clone(), file.clone())).collect();
        let mut upcoming = self.written.upcoming();
        upcoming.retain(|file| !self.uploaded.contains_key(&file.name));
        let manifest = Manifest {
            format: FORMAT,
            shard_id: self.lease.shard_id,
            version: self.version + 1,
            meta: committed.meta.clone(),
            files,
            upcoming,
            cursor: self.cursor.clone(),
            documents: committed.documents,
        };
        let (sha256, bytes) = manifest.encode()?;
        self.settings.objects.put(&manifest.shard_id.manifest_key(&sha256), bytes).await?;
        self.activate(&sha256, is_repaired).await?;
        self.written.publish(&manifest.files, &manifest.upcoming);
        self.bulk.finish_turn();
        self.version += 1;
        self.stored_cursor = self.cursor.clone();
        self.is_unpublished = false;
        self.published_at = Instant::now();
        metrics::counter!("souk_search_publications_total").increment(1);
        let shard = manifest.shard_id.shard.to_string();
        #[expect(clippy::cast_precision_loss, reason = "a metric needs no exact value")]
        metrics::gauge!("souk_search_documents", "shard" => shard).set(manifest.documents as f64);
        self.published = Some((sha256, manifest));
        Ok(())
    }

    /// Makes the manifest the current version, advances the cursor and deletes the bulk changes that it contains in one
    /// transaction, if the lease is still held.
    async fn activate(&self, sha256: &str, is_repaired: bool) -> Result<(), IndexError> {
        let shard_id = self.lease.shard_id;
        let mut work = Work::for_platform(&self.database).await?;
        let now = work.clock_timestamp().await?;
        let publication = Publication {
            shard_id,
            token: self.lease.token,
            built_on: self.version,
            manifest: sha256,
            is_repaired,
        };
        if !table::publish(&mut work, &publication, now).await? {
            return Err(IndexError::LeaseLost);
        }
        if !self.bulk.applied.is_empty() {
            table::delete_bulk(&mut work, shard_id, &self.bulk.applied).await?;
        }
        advance(&mut work, &shard_id.cursor_name(), &self.stored_cursor, &self.cursor).await?;
        work.commit().await?;
        Ok(())
    }

    /// Advances only the cursor: no event since the last publication concerned the shard.
    pub(super) async fn advance_cursor(&mut self) -> Result<(), IndexError> {
        if self.stored_cursor == self.cursor {
            return Ok(());
        }
        let shard_id = self.lease.shard_id;
        let mut work = Work::for_platform(&self.database).await?;
        if !table::lock_lease(&mut work, shard_id, self.lease.token).await? {
            return Err(IndexError::LeaseLost);
        }
        advance(&mut work, &shard_id.cursor_name(), &self.stored_cursor, &self.cursor).await?;
        work.commit().await?;
        self.stored_cursor = self.cursor.clone();
        Ok(())
    }

    /// Uploads the files that are not in object storage yet.
    async fn upload_all(&self, names: Vec<String>) -> Result<Vec<ManifestFile>, IndexError> {
        let uploads = stream::iter(names).map(|name| self.upload(name)).buffered(UPLOADS);
        uploads.try_collect().await
    }

    async fn upload(&self, name: String) -> Result<ManifestFile, IndexError> {
        if let Some(file) = self.uploaded.get(&name) {
            return Ok(file.clone());
        }
        let path = self.directory.join(&name);
        let file = match self.written.get(&name) {
            Some((file, FileState::Written)) => file,
            Some((file, _)) => return Ok(file),
            None => {
                let local = path.clone();
                let computed =
                    tokio::task::spawn_blocking(move || checksum::of_file(&local)).await?;
                let (sha256, bytes) = computed.map_err(|error| {
                    IndexError::LocalFile(format!("{}: {error}", path.display()))
                })?;
                let key = self.lease.shard_id.file_key(&sha256);
                ManifestFile { name, key, bytes, sha256 }
            }
        };
        self.settings.objects.put_file(&file.key, &path).await?;
        Ok(file)
    }

    /// Uploads the indexed languages if they changed.
    async fn upload_languages(&self) -> Result<ManifestFile, IndexError> {
        let encoded = self.blocking(|working_copy| working_copy.languages.encode()).await?;
        let sha256 = checksum::of_bytes(&encoded);
        if let Some(file) = self.uploaded.get(indexed_languages::FILE_NAME)
            && file.sha256 == sha256
        {
            return Ok(file.clone());
        }
        let key = self.lease.shard_id.file_key(&sha256);
        let bytes = u64::try_from(encoded.len()).unwrap_or(u64::MAX);
        // Also in the working copy, so that a restart finds it there.
        std::fs::write(self.directory.join(indexed_languages::FILE_NAME), &encoded)?;
        self.settings.objects.put(&key, encoded).await?;
        Ok(ManifestFile { name: String::from(indexed_languages::FILE_NAME), key, bytes, sha256 })
    }

    /// Returns whether merges changed the segments since the last publication.
    pub(super) async fn is_merged(&self) -> Result<bool, IndexError> {
        let committed = self.blocking(|working_copy| working_copy.committed()).await?;
        Ok(committed.names.iter().any(|name| !self.uploaded.contains_key(name)))
    }

    /// Returns whether the current manifest is missing: the cheapest sign that objects were deleted.
    pub(super) async fn is_manifest_missing(&self) -> Result<bool, IndexError> {
        let Some((sha256, manifest)) = &self.published else { return Ok(false) };
        Ok(!self.settings.objects.exists(&manifest.shard_id.manifest_key(sha256)).await?)
    }

    /// Verifies every object of the current version, uploads missing or damaged ones again from the working copy, and
    /// publishes. If the working copy is damaged too, fails: the shard is then filled again from PostgreSQL.
    pub(super) async fn repair(&mut self) -> Result<(), IndexError> {
        let shard_id = self.lease.shard_id;
        let files: Vec<ManifestFile> = self.uploaded.values().cloned().collect();
        // The publication uploads them again.
        for file in self.written.upcoming() {
            self.written.remove(&file.name);
        }
        let mut damaged = 0_u64;
        for file in files {
            if self.settings.objects.matches(&file.key, &file.sha256, file.bytes).await? {
                continue;
            }
            let path = self.directory.join(&file.name);
            let (sha256, bytes) = (file.sha256.clone(), file.bytes);
            let is_valid = move || checksum::matches(&path, &sha256, bytes);
            if !tokio::task::spawn_blocking(is_valid).await? {
                return Err(IndexError::LocalFile(format!(
                    "{} is missing or damaged in the working copy too",
                    file.name
                )));
            }
            self.uploaded.remove(&file.name);
            self.written.remove(&file.name);
            damaged += 1;
        }
        metrics::counter!("souk_search_damage_total").increment(damaged.max(1));
        tracing::warn!(?shard_id, damaged, "repairing the published shard");
        self.publish(true).await?;
        self.lease.clear_damage();
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
        // Only the holder of the lease advances the cursor.
        Err(QueueError::CursorMoved(_)) => Err(IndexError::LeaseLost),
        advanced => Ok(advanced?),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use testkit::{StoreBuilder, TestDatabase, product_draft};

    use super::*;
    use crate::lease::Lease;
    use crate::manifest::ShardId;
    use crate::{ObjectStorage, WriterSettings, generation};

    const SHARD: ShardId = ShardId { generation: 1, shard: 0 };

    #[tokio::test(flavor = "multi_thread")]
    async fn a_repair_uploads_the_files_of_a_merge_again() {
        let test = TestDatabase::new().await;
        let database = test.database();
        let store = StoreBuilder::new("attic").product(product_draft("lamp", "12.50", 3));
        store.build(database).await;
        generation::ensure(database, 1).await.unwrap();
        let directory = std::env::temp_dir().join(format!("souk-repair-{}", std::process::id()));
        let objects = ObjectStorage::open(&directory.join("objects").to_string_lossy()).unwrap();
        let settings = WriterSettings::new(directory.join("writers"), objects.clone());
        let leased = Lease::acquire(database, SHARD, Duration::from_mins(10)).await.unwrap();
        let (lease, held) = leased.unwrap();
        let opened = ShardWriter::open(database, &settings, &settings.directory, &lease, held);
        let mut shard = opened.await.unwrap();
        // As after a merge: a version lists its files as upcoming, and none contains them.
        let (_, before) = shard.published.clone().unwrap();
        shard.written.publish(&[], &before.files);
        shard.uploaded.clear();
        assert!(!shard.written.upcoming().is_empty());
        std::fs::remove_dir_all(directory.join("objects")).unwrap();
        shard.repair().await.unwrap();
        let (_, after) = shard.published.clone().unwrap();
        assert_eq!((after.version, after.documents), (before.version + 1, 1));
        assert!(after.upcoming.is_empty());
        for file in &after.files {
            let matches = objects.matches(&file.key, &file.sha256, file.bytes).await.unwrap();
            assert!(matches, "{} is not in object storage", file.name);
        }
        drop(shard);
        // The threads of the index may still be ending.
        let _ = std::fs::remove_dir_all(&directory);
    }
}
