//! The working copy of a shard: the local index that its writer changes. All functions block.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use catalog::Product;
use jobs::Cursor;
use merchants::Store;
use primitives::{MerchantId, ProductId};
use tantivy::index::SegmentComponent;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexMeta, IndexWriter};

use super::unsynced_directory::UnsyncedDirectory;
use super::written_files::WrittenFiles;
use crate::IndexError;
use crate::checksum;
use crate::document::{DocumentBuilder, id_term};
use crate::indexed_languages::{self, IndexedLanguages};
use crate::manifest::{Manifest, ManifestFile};
use crate::schema::{Fields, schema, settings};

/// One indexing thread per shard: shards are written concurrently.
const THREADS: usize = 1;
/// Two, so that a long merge does not delay short ones.
const MERGE_THREADS: usize = 2;
/// Segments of about the same size that are merged into one.
const SEGMENTS_MERGED: usize = 6;
/// Segments with fewer documents count as the same size.
const SMALL_SEGMENT_DOCUMENTS: u32 = 1_000;
/// Segments within a factor of eight count as the same size, so that large segments are rarely merged.
const SIZE_FACTOR_LOG2: f64 = 3.0;
/// Ratio of deleted documents at which a segment is rewritten.
const DELETED_MAX: f32 = 0.3;

/// A change of a product; without `product`, its document is deleted.
pub(super) struct Change {
    pub(super) merchant: MerchantId,
    pub(super) id: ProductId,
    pub(super) product: Option<Box<Product>>,
}

/// The index of a shard with its tantivy writer.
pub(super) struct WorkingCopy {
    index: Index,
    writer: IndexWriter,
    fields: Fields,
    pub(super) languages: IndexedLanguages,
    /// Number of uncommitted changes.
    pub(super) pending: usize,
}

/// A committed state. The index keeps its files while this value lives.
pub(super) struct Committed {
    pub(super) meta: String,
    pub(super) documents: u64,
    /// Names of the segment files.
    pub(super) names: Vec<String>,
    _held: IndexMeta,
}

impl WorkingCopy {
    /// Creates an empty working copy.
    pub(super) fn create(
        directory: &Path,
        memory_bytes: usize,
        written: WrittenFiles,
    ) -> Result<Self, IndexError> {
        fs::create_dir_all(directory)?;
        let (schema, _) = schema();
        let index = Index::builder().schema(schema).settings(settings());
        let index = index.open_or_create(UnsyncedDirectory::open(directory, written)?)?;
        Self::with_index(index, memory_bytes, IndexedLanguages::default())
    }

    /// Links the valid files of a manifest from earlier working copies below `root`. Returns the files that are
    /// missing.
    ///
    /// Each acquisition of the lease has its own working copy: threads of an earlier one may still be writing.
    pub(super) fn link_existing_files(
        root: &Path,
        directory: &Path,
        manifest: &Manifest,
    ) -> Result<Vec<ManifestFile>, IndexError> {
        fs::create_dir_all(directory)?;
        let mut copies = Vec::new();
        for entry in fs::read_dir(root)? {
            let path = entry?.path();
            if path.is_dir() && path != directory {
                copies.push(path);
            }
        }
        let is_missing = |file: &&ManifestFile| {
            let found = copies.iter().map(|copy| copy.join(&file.name));
            let mut valid = found.filter(|path| checksum::matches(path, &file.sha256, file.bytes));
            !valid.any(|path| fs::hard_link(path, directory.join(&file.name)).is_ok())
        };
        Ok(manifest.files.iter().filter(is_missing).cloned().collect())
    }

    /// Opens the working copy of a manifest whose files are all in `directory`.
    pub(super) fn open(
        directory: &Path,
        manifest: &Manifest,
        memory_bytes: usize,
        written: WrittenFiles,
    ) -> Result<Self, IndexError> {
        // The files that tantivy manages, so that it deletes them after merges.
        let names = manifest.files.iter().map(|file| file.name.as_str());
        let names = names.filter(|name| *name != indexed_languages::FILE_NAME);
        let managed: Vec<&str> = names.chain(["meta.json"]).collect();
        let managed = serde_json::to_vec(&managed);
        let managed = managed.map_err(|error| IndexError::LocalFile(error.to_string()))?;
        fs::write(directory.join(".managed.json"), managed)?;
        fs::write(directory.join("meta.json"), &manifest.meta)?;
        let languages =
            IndexedLanguages::decode(&fs::read(directory.join(indexed_languages::FILE_NAME))?)?;
        let index = Index::open(UnsyncedDirectory::open(directory, written)?)?;
        Self::with_index(index, memory_bytes, languages)
    }

    /// Deletes all other working copies. Failures are ignored; the next call tries again.
    pub(super) fn remove_others(root: &Path, current: &Path) {
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            let path = entry.path();
            if path != current && path.is_dir() {
                let _ = fs::remove_dir_all(path);
            }
        }
    }

    fn with_index(
        index: Index,
        memory_bytes: usize,
        languages: IndexedLanguages,
    ) -> Result<Self, IndexError> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(THREADS)
            .num_merge_threads(MERGE_THREADS)
            .memory_budget_per_thread(memory_bytes / THREADS)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        // A new writer gives its first operation the opstamp of the last commit, and a merge that starts before the
        // next commit treats that operation as part of the last one: a delete would then be lost for segments with
        // deletes from that commit. A no-op operation uses up the opstamp.
        writer.run([])?;
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(SEGMENTS_MERGED);
        policy.set_min_layer_size(SMALL_SEGMENT_DOCUMENTS);
        policy.set_level_log_size(SIZE_FACTOR_LOG2);
        policy.set_del_docs_ratio_before_merge(DELETED_MAX);
        writer.set_merge_policy(Box::new(policy));
        let (_, fields) = schema();
        Ok(Self { index, writer, fields, languages, pending: 0 })
    }

    /// Applies changes. Applying them again has no effect.
    pub(super) fn apply(
        &mut self,
        stores: &HashMap<MerchantId, Arc<Store>>,
        mut changes: Vec<Change>,
    ) -> Result<(), IndexError> {
        changes.sort_by_key(|change| change.merchant.uuid());
        for of_store in changes.chunk_by(|one, other| one.merchant == other.merchant) {
            let store = of_store.first().and_then(|change| stores.get(&change.merchant));
            let mut builder = store.map(|store| DocumentBuilder::new(self.fields, store));
            for change in of_store {
                self.writer.delete_term(id_term(&self.fields, change.id));
                let product = builder.as_mut().zip(change.product.as_deref());
                let document = product.and_then(|(builder, product)| builder.build(product));
                if let Some(document) = document {
                    self.writer.add_document(document)?;
                }
                self.pending += 1;
            }
            if let Some(store) = store.filter(|store| !self.languages.contains(store.merchant)) {
                self.languages.record(store);
            }
        }
        Ok(())
    }

    /// Commits the changes with the cursor as payload.
    pub(super) fn commit(&mut self, cursor: &Cursor) -> Result<(), IndexError> {
        let payload = serde_json::to_string(cursor);
        let payload = payload.map_err(|error| IndexError::LocalFile(error.to_string()))?;
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        self.pending = 0;
        Ok(())
    }

    /// Returns the committed state. Merges may change its segments after a commit, never its documents.
    pub(super) fn committed(&self) -> Result<Committed, IndexError> {
        const COMPONENTS: [SegmentComponent; 6] = [
            SegmentComponent::Postings,
            SegmentComponent::Positions,
            SegmentComponent::Terms,
            SegmentComponent::Store,
            SegmentComponent::FastFields,
            SegmentComponent::FieldNorms,
        ];
        let held = self.index.load_metas()?;
        let mut names: Vec<String> = Vec::new();
        for segment in &held.segments {
            let deleted = segment.has_deletes().then_some(SegmentComponent::Delete);
            let paths = COMPONENTS
                .into_iter()
                .chain(deleted)
                .map(|component| segment.relative_path(component));
            names.extend(paths.filter_map(|path| path.to_str().map(str::to_owned)));
        }
        names.sort_unstable();
        let meta = serde_json::to_string(&held);
        let meta = meta.map_err(|error| IndexError::LocalFile(error.to_string()))?;
        let documents = held.segments.iter().map(|segment| u64::from(segment.num_docs())).sum();
        Ok(Committed { meta, documents, names, _held: held })
    }
}

#[cfg(test)]
mod tests {
    use primitives::Id;
    use tantivy::TantivyDocument;
    use tantivy::collector::Count;
    use tantivy::merge_policy::NoMergePolicy;
    use tantivy::query::TermQuery;
    use tantivy::schema::IndexRecordOption;

    use super::*;

    const MEMORY_BYTES: usize = 20_000_000;

    fn document(fields: &Fields, product: u128) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_bytes(fields.id, ProductId::from_random(product).uuid().as_bytes());
        document.add_u64(fields.store, 1);
        document
    }

    /// Writes six unmerged segments, as a killed writer leaves them. The last commit deletes from the smallest.
    fn leave_unmerged(index: &Index, fields: &Fields) -> tantivy::Result<()> {
        let mut writer: IndexWriter = index.writer_with_num_threads(1, MEMORY_BYTES)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let mut product = 0;
        for size in [9, 8, 7, 6, 5, 4] {
            for _ in 0..size {
                writer.add_document(document(fields, product))?;
                product += 1;
            }
            writer.commit()?;
        }
        writer.delete_term(id_term(fields, ProductId::from_random(product - 1)));
        writer.commit()?;
        Ok(())
    }

    /// The first operation of the writer is a delete, and its first commit starts a merge.
    #[test]
    fn the_first_delete_after_a_restart_survives_a_merge() {
        let (schema, fields) = schema();
        let index = Index::builder().schema(schema).settings(settings()).create_in_ram().unwrap();
        leave_unmerged(&index, &fields).unwrap();
        let mut working_copy =
            WorkingCopy::with_index(index, MEMORY_BYTES, IndexedLanguages::default()).unwrap();
        let changed = ProductId::from_random(37);
        working_copy.writer.delete_term(id_term(&fields, changed));
        working_copy.writer.add_document(document(&fields, 37)).unwrap();
        working_copy.commit(&Cursor::default()).unwrap();
        let WorkingCopy { index, writer, .. } = working_copy;
        writer.wait_merging_threads().unwrap();
        let searcher = index.reader().unwrap().searcher();
        let term = id_term(&fields, changed);
        let found = TermQuery::new(term, IndexRecordOption::Basic);
        assert_eq!(searcher.search(&found, &Count).unwrap(), 1);
        assert_eq!(searcher.num_docs(), 38);
    }
}
