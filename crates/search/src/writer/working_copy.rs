//! The index of one shard on this machine, as its writer keeps it. Everything here blocks.

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

use super::unsynced::Unsynced;
use crate::IndexError;
use crate::checksum;
use crate::document::{Documents, id_term};
use crate::languages::{self, Languages};
use crate::manifest::{Manifest, ManifestFile};
use crate::schema::{Fields, schema, settings};

/// One thread writes: shards are what runs side by side.
const THREADS: usize = 1;
/// A long merge does not keep short ones waiting.
const MERGE_THREADS: usize = 2;
/// So many segments of about the same size become one.
const SEGMENTS_MERGED: usize = 6;
/// Segments with fewer documents are all of the same size.
const SMALL_SEGMENT_DOCUMENTS: u32 = 1_000;
/// Segments within a factor of eight are of the same size: the large ones are left alone until there
/// is much beside them.
const SIZE_FACTOR_LOG2: f64 = 3.0;
/// A segment is written anew when so much of it is deleted.
const DELETED_MAX: f32 = 0.3;

/// A product as it is to be found from now on; not at all, if there is none.
pub(super) struct Change {
    pub(super) merchant: MerchantId,
    pub(super) id: ProductId,
    pub(super) product: Option<Box<Product>>,
}

/// A shard's index and its writer.
pub(super) struct Local {
    index: Index,
    writer: IndexWriter,
    fields: Fields,
    pub(super) languages: Languages,
    /// Changes that are not committed.
    pub(super) pending: usize,
}

/// A committed state. While it lives, the index keeps its files.
pub(super) struct Committed {
    pub(super) meta: String,
    pub(super) documents: u64,
    /// The files of the segments, by name.
    pub(super) names: Vec<String>,
    _held: IndexMeta,
}

impl Local {
    /// An empty index.
    pub(super) fn create(directory: &Path, memory_bytes: usize) -> Result<Self, IndexError> {
        fs::create_dir_all(directory)?;
        let (schema, _) = schema();
        let index = Index::builder().schema(schema).settings(settings());
        let index = index.open_or_create(Unsynced::open(directory)?)?;
        Self::over(index, memory_bytes, Languages::default())
    }

    /// Takes the files of a manifest over from earlier working copies below a directory, those that
    /// are what they should be. Answers the others.
    ///
    /// Each holding of the lease has a working copy of its own: threads of an earlier one may still
    /// be writing into theirs.
    pub(super) fn adopt(
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
            let mut right = found.filter(|path| checksum::holds(path, &file.sha256, file.bytes));
            !right.any(|path| fs::hard_link(path, directory.join(&file.name)).is_ok())
        };
        Ok(manifest.files.iter().filter(is_missing).cloned().collect())
    }

    /// Opens the state of a manifest whose files are all here.
    pub(super) fn open(
        directory: &Path,
        manifest: &Manifest,
        memory_bytes: usize,
    ) -> Result<Self, IndexError> {
        // What the index takes care of, so that it removes these when they are merged away.
        let names = manifest.files.iter().map(|file| file.name.as_str());
        let names = names.filter(|name| *name != languages::FILE_NAME);
        let managed: Vec<&str> = names.chain(["meta.json"]).collect();
        let managed = serde_json::to_vec(&managed);
        let managed = managed.map_err(|error| IndexError::Local(error.to_string()))?;
        fs::write(directory.join(".managed.json"), managed)?;
        fs::write(directory.join("meta.json"), &manifest.meta)?;
        let languages = Languages::decode(&fs::read(directory.join(languages::FILE_NAME))?)?;
        Self::over(Index::open(Unsynced::open(directory)?)?, memory_bytes, languages)
    }

    /// Removes every working copy but one. What resists goes the next time.
    pub(super) fn leave_only(root: &Path, kept: &Path) {
        for entry in fs::read_dir(root).into_iter().flatten().flatten() {
            let path = entry.path();
            if path != kept && path.is_dir() {
                let _ = fs::remove_dir_all(path);
            }
        }
    }

    fn over(index: Index, memory_bytes: usize, languages: Languages) -> Result<Self, IndexError> {
        let options = IndexWriterOptions::builder()
            .num_worker_threads(THREADS)
            .num_merge_threads(MERGE_THREADS)
            .memory_budget_per_thread(memory_bytes / THREADS)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        // A writer numbers its first operation like the commit it goes on from, and a merge that
        // begins before the next commit takes that operation for one of the commit's: a delete would
        // be lost to segments that were last deleted from in it. An operation that does nothing takes
        // the number.
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

    /// Takes changes in. Taking the same in again changes nothing.
    pub(super) fn apply(
        &mut self,
        stores: &HashMap<MerchantId, Arc<Store>>,
        mut changes: Vec<Change>,
    ) -> Result<(), IndexError> {
        changes.sort_by_key(|change| change.merchant.uuid());
        for of_store in changes.chunk_by(|one, other| one.merchant == other.merchant) {
            let store = of_store.first().and_then(|change| stores.get(&change.merchant));
            let mut documents = store.map(|store| Documents::new(self.fields, store));
            for change in of_store {
                self.writer.delete_term(id_term(&self.fields, change.id));
                let made = documents.as_mut().zip(change.product.as_deref());
                let document = made.and_then(|(documents, product)| documents.document(product));
                if let Some(document) = document {
                    self.writer.add_document(document)?;
                }
                self.pending += 1;
            }
            if let Some(store) = store.filter(|store| !self.languages.know(store.merchant)) {
                self.languages.note(store);
            }
        }
        Ok(())
    }

    /// Makes the changes last. The position in the outbox goes with them.
    pub(super) fn commit(&mut self, cursor: &Cursor) -> Result<(), IndexError> {
        let payload = serde_json::to_string(cursor);
        let payload = payload.map_err(|error| IndexError::Local(error.to_string()))?;
        let mut prepared = self.writer.prepare_commit()?;
        prepared.set_payload(&payload);
        prepared.commit()?;
        self.pending = 0;
        Ok(())
    }

    /// What is committed. Merges may have changed its segments since the commit, never its documents.
    pub(super) fn committed(&self) -> Result<Committed, IndexError> {
        const PARTS: [SegmentComponent; 6] = [
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
            let parts = PARTS.into_iter().chain(deleted).map(|part| segment.relative_path(part));
            names.extend(parts.filter_map(|path| path.to_str().map(str::to_owned)));
        }
        names.sort_unstable();
        let meta = serde_json::to_string(&held);
        let meta = meta.map_err(|error| IndexError::Local(error.to_string()))?;
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

    /// Six segments that nobody has merged yet, as a writer leaves them that was killed. The last
    /// commit deletes from the smallest.
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

    /// The first thing a writer does is a delete, and what it finds is merged at once.
    #[test]
    fn the_first_delete_after_a_restart_outlives_a_merge() {
        let (schema, fields) = schema();
        let index = Index::builder().schema(schema).settings(settings()).create_in_ram().unwrap();
        leave_unmerged(&index, &fields).unwrap();
        let mut local = Local::over(index, MEMORY_BYTES, Languages::default()).unwrap();
        let changed = ProductId::from_random(37);
        local.writer.delete_term(id_term(&fields, changed));
        local.writer.add_document(document(&fields, 37)).unwrap();
        local.commit(&Cursor::default()).unwrap();
        let Local { index, writer, .. } = local;
        writer.wait_merging_threads().unwrap();
        let searcher = index.reader().unwrap().searcher();
        let term = id_term(&fields, changed);
        let found = TermQuery::new(term, IndexRecordOption::Basic);
        assert_eq!(searcher.search(&found, &Count).unwrap(), 1);
        assert_eq!(searcher.num_docs(), 38);
    }
}
