//! An open index with the columns (fast fields) that a collector reads.
//!
//! Opening a column reads its header, whose size grows with the segment: for a rare word that would cost more
//! than the search itself. A published segment never changes, so its columns are opened once.

use std::sync::Arc;

use tantivy::columnar::ColumnValues;
use tantivy::{DocId, Searcher, SegmentReader};

/// A searcher with its columns.
#[derive(Clone)]
pub(crate) struct OpenIndex {
    pub(crate) searcher: Searcher,
    /// One per segment, in the order of the searcher.
    pub(crate) columns: Arc<[Columns]>,
}

impl OpenIndex {
    pub(crate) fn new(searcher: Searcher) -> tantivy::Result<Self> {
        let columns: tantivy::Result<_> =
            searcher.segment_readers().iter().map(Columns::open).collect();
        Ok(Self { columns: columns?, searcher })
    }

    /// Returns the segments with their ordinals and columns.
    pub(crate) fn segments(&self) -> impl Iterator<Item = (u32, &SegmentReader, &Columns)> {
        let segments = self.searcher.segment_readers().iter().zip(self.columns.iter());
        (0..).zip(segments).map(|(ordinal, (segment, columns))| (ordinal, segment, columns))
    }
}

/// The columns of a segment that a collector reads.
pub(crate) struct Columns {
    /// Ranges of documents by store: documents are sorted by store.
    pub(crate) stores: Vec<Run>,
    pub(crate) tie: Arc<dyn ColumnValues<u64>>,
    pub(crate) price: Arc<dyn ColumnValues<u64>>,
    pub(crate) currency: Arc<dyn ColumnValues<u64>>,
    pub(crate) stock: Arc<dyn ColumnValues<u64>>,
    pub(crate) listed_at: Arc<dyn ColumnValues<i64>>,
}

impl Columns {
    fn open(segment: &SegmentReader) -> tantivy::Result<Self> {
        let columns = segment.fast_fields();
        Ok(Self {
            stores: runs(columns.column_first_or_default("store")?.as_ref(), segment.max_doc()),
            tie: columns.column_first_or_default("tie")?,
            price: columns.column_first_or_default("price_micros")?,
            currency: columns.column_first_or_default("currency")?,
            stock: columns.column_first_or_default("stock")?,
            listed_at: columns.column_first_or_default("listed_at")?,
        })
    }
}

/// A contiguous range of documents of one store, up to but not including `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) end: DocId,
    pub(crate) store: u32,
}

/// Returns the runs of equal values of a sorted column.
fn runs(stores: &dyn ColumnValues<u64>, max_doc: DocId) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut start = 0;
    while start < max_doc {
        let store = stores.get_val(start);
        // Exponential, then binary search: a run is short compared with the segment.
        let (mut inside, mut step) = (start, 1);
        while inside + step < max_doc && stores.get_val(inside + step) == store {
            inside += step;
            step *= 2;
        }
        let mut end = (inside + step).min(max_doc);
        while inside + 1 < end {
            let middle = inside + (end - inside) / 2;
            if stores.get_val(middle) == store {
                inside = middle;
            } else {
                end = middle;
            }
        }
        // Store numbers are small; a larger one belongs to no store.
        runs.push(Run { end, store: u32::try_from(store).unwrap_or(u32::MAX) });
        start = end;
    }
    runs
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct Sorted(Vec<u64>);

    impl ColumnValues<u64> for Sorted {
        fn get_val(&self, doc: u32) -> u64 {
            self.0[usize::try_from(doc).unwrap()]
        }

        fn min_value(&self) -> u64 {
            0
        }

        fn max_value(&self) -> u64 {
            u64::MAX
        }

        fn num_vals(&self) -> u32 {
            u32::try_from(self.0.len()).unwrap()
        }
    }

    proptest! {
        #[test]
        fn every_document_is_in_the_run_of_its_store(
            mut values in prop::collection::vec(0_u64..12, 0..300),
        ) {
            values.sort_unstable();
            let max_doc = u32::try_from(values.len()).unwrap();
            let runs = runs(&Sorted(values.clone()), max_doc);
            for (doc, value) in (0_u32..).zip(&values) {
                let run = runs[runs.partition_point(|run| run.end <= doc)];
                prop_assert_eq!(u64::from(run.store), *value);
            }
            let mut distinct = values;
            distinct.dedup();
            prop_assert_eq!(runs.len(), distinct.len());
        }
    }
}
