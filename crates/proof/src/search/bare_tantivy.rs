//! tantivy called in-process, with the same products and queries and the same work per query: the cost of a
//! search without a server.

mod collector;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tantivy::query::{BooleanQuery, BoostQuery, ConstScoreQuery, Occur, TermQuery};
use tantivy::schema::Value;
use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STORED, Schema,
    TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{
    AsciiFoldingFilter, Language, LowerCaser, RemoveLongFilter, SimpleTokenizer, Stemmer,
    TextAnalyzer,
};
use tantivy::{Index, IndexSettings, IndexWriter, Order, Searcher, TantivyDocument, Term};

use super::measure::{
    ByKind, MIXED, Round, as_float, directory_bytes, micros_per_query, thread_cpu_nanos,
};
use super::synthetic_catalog::{Product, Query, SyntheticCatalog};
use crate::report::Failure;
use collector::{Filters, SearchResults, TopHits};

/// Number of indexing threads and of search threads.
const THREADS: usize = 2;
const WRITER_BYTES: usize = 400_000_000;
/// Additional weight of a word in the title.
const TITLE_BOOST: f32 = 2.0;
const WORDS: &str = "words";

#[derive(Clone, Copy)]
struct Fields {
    store: Field,
    tie: Field,
    text: Field,
    title: Field,
    category: Field,
    price: Field,
    stock: Field,
    record: Field,
}

/// An index in a directory of its own, removed when dropped.
pub(crate) struct BareTantivy {
    directory: PathBuf,
    fields: Fields,
    searcher: Searcher,
    words: TextAnalyzer,
    /// Score factor by store number; zero for suspended stores.
    factors: std::sync::Arc<[f32]>,
    pub(crate) build: Duration,
}

fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let column = || NumericOptions::default() | FAST;
    let words = || {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(WORDS)
            .set_index_option(IndexRecordOption::WithFreqs);
        TextOptions::default().set_indexing_options(indexing)
    };
    let terms = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    let fields = Fields {
        store: schema.add_u64_field("store", NumericOptions::default() | FAST | INDEXED),
        tie: schema.add_u64_field("tie", column()),
        text: schema.add_text_field("text", words()),
        title: schema.add_text_field("title", words()),
        category: schema
            .add_text_field("category", TextOptions::default().set_indexing_options(terms)),
        price: schema.add_u64_field("price", column()),
        stock: schema.add_u64_field("stock", column()),
        record: schema.add_bytes_field("record", BytesOptions::default() | STORED),
    };
    (schema.build(), fields)
}

fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(40))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .filter(Stemmer::new(Language::English))
        .build()
}

impl BareTantivy {
    /// Generates and indexes all products of the catalog.
    pub(crate) fn build(catalog: &SyntheticCatalog) -> Result<Self, Failure> {
        let since = Instant::now();
        let name = format!("souk-proof-tantivy-{}-{}", std::process::id(), catalog.size);
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory)?;
        let (schema, fields) = schema();
        let order = tantivy::IndexSortByField { field: String::from("store"), order: Order::Asc };
        let settings = IndexSettings { sort_by_field: Some(order), ..IndexSettings::default() };
        let index = Index::builder().schema(schema).settings(settings).create_in_dir(&directory)?;
        index.tokenizers().register(WORDS, analyzer());
        let mut writer: IndexWriter = index.writer_with_num_threads(THREADS, WRITER_BYTES)?;
        for number in 0..catalog.size {
            writer.add_document(document(catalog, fields, &catalog.product(number)))?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        let searcher = index.reader()?.searcher();
        let build = since.elapsed();
        let words = analyzer();
        Ok(Self { directory, fields, searcher, words, factors: factors(catalog), build })
    }

    /// Returns the size of the index.
    pub(crate) fn bytes(&self) -> Result<u64, Failure> {
        directory_bytes(&self.directory)
    }

    /// Returns the records of the first twenty hits, and the total number of hits.
    pub(crate) fn search(&self, query: &Query) -> Result<(Vec<Vec<u8>>, u64), Failure> {
        let filters = Filters {
            max_price: query.max_price_minor.and_then(|minor| u64::try_from(minor).ok()),
            in_stock_only: query.in_stock_only,
        };
        let top = TopHits { factors: std::sync::Arc::clone(&self.factors), filters };
        let SearchResults { best, total } = self.searcher.search(&self.query(query), &top)?;
        let mut records = Vec::with_capacity(best.len());
        for hit in best {
            let document: TantivyDocument = self.searcher.doc(hit.address)?;
            let record = document.get_first(self.fields.record);
            let bytes = record.as_ref().and_then(Value::as_bytes);
            records.push(bytes.ok_or("a document has no record")?.to_vec());
        }
        Ok((records, total))
    }

    /// Requires every word in the text, and gives words in the title a higher weight.
    fn query(&self, query: &Query) -> BooleanQuery {
        let mut clauses: Vec<(Occur, Box<dyn tantivy::query::Query>)> = Vec::new();
        let term = |term: Term, option: IndexRecordOption| Box::new(TermQuery::new(term, option));
        let filter =
            |required: Term| ConstScoreQuery::new(term(required, IndexRecordOption::Basic), 0.0);
        let mut words = self.words.clone();
        let text = query.words.join(" ");
        let mut stream = words.token_stream(&text);
        stream.process(&mut |token| {
            let text = Term::from_field_text(self.fields.text, &token.text);
            let title = Term::from_field_text(self.fields.title, &token.text);
            let title = term(title, IndexRecordOption::WithFreqs);
            clauses.push((Occur::Must, term(text, IndexRecordOption::WithFreqs)));
            clauses.push((Occur::Should, Box::new(BoostQuery::new(title, TITLE_BOOST))));
        });
        if let Some((index, _)) = &query.store {
            let store = Term::from_field_u64(self.fields.store, u64::from(*index) + 1);
            clauses.push((Occur::Must, Box::new(filter(store))));
        }
        if let Some(category) = &query.category {
            let category = Term::from_field_text(self.fields.category, category);
            clauses.push((Occur::Must, Box::new(filter(category))));
        }
        BooleanQuery::new(clauses)
    }

    /// Runs all queries on two threads.
    pub(crate) fn round(&self, queries: &[Query]) -> Result<Round, Failure> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<u64, Failure> {
            let before = thread_cpu_nanos()?;
            while let Some(query) = queries.get(next.fetch_add(1, Ordering::Relaxed)) {
                std::hint::black_box(self.search(query)?);
            }
            Ok(thread_cpu_nanos()? - before)
        };
        let since = Instant::now();
        let nanos: Result<Vec<u64>, Failure> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<u64, Failure>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let per_second = as_float(queries.len()) / since.elapsed().as_secs_f64();
        let cpu_micros = micros_per_query(nanos?.iter().sum(), queries.len());
        Ok(Round { per_second, cpu_micros })
    }

    /// Returns the CPU time per query of each kind.
    pub(crate) fn by_kind(&self, kinds: &[(String, Vec<Query>)]) -> Result<ByKind, Failure> {
        let (mut by_kind, mut all_nanos, mut all_queries) = (ByKind::new(), 0, 0);
        for (kind, queries) in kinds {
            let before = thread_cpu_nanos()?;
            for query in queries {
                std::hint::black_box(self.search(query)?);
            }
            let nanos = thread_cpu_nanos()? - before;
            by_kind.insert(kind.clone(), micros_per_query(nanos, queries.len()));
            all_nanos += nanos;
            all_queries += queries.len();
        }
        by_kind.insert(String::from(MIXED), micros_per_query(all_nanos, all_queries));
        Ok(by_kind)
    }
}

impl Drop for BareTantivy {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Returns the trust factor of each store: half of the score is weighted by trust.
#[expect(clippy::cast_possible_truncation, reason = "a factor needs few digits")]
fn factors(catalog: &SyntheticCatalog) -> std::sync::Arc<[f32]> {
    let factor = |merchant: &super::synthetic_catalog::Merchant| {
        if merchant.is_suspended() { 0.0 } else { (0.5 + 0.5 * merchant.trust) as f32 }
    };
    // Store numbers start at one.
    std::iter::once(0.0).chain(catalog.merchants.iter().map(factor)).collect()
}

fn document(catalog: &SyntheticCatalog, fields: Fields, product: &Product) -> TantivyDocument {
    let mut document = TantivyDocument::new();
    let title = format!("{} {}", product.name, product.brand);
    let (path, category) = (catalog.category_path(product), catalog.category_name(product));
    let text = format!(
        "{title} {category} {path} {} {} {}",
        product.description, product.colour, product.material
    );
    document.add_u64(fields.store, u64::from(catalog.merchant_for(product).store_number()));
    document.add_u64(fields.tie, product.id.as_u64_pair().0);
    document.add_u64(fields.price, u64::try_from(product.price_minor).unwrap_or(0));
    document.add_u64(fields.stock, u64::from(product.in_stock));
    document.add_text(fields.title, &title);
    document.add_text(fields.text, &text);
    document.add_text(fields.category, path);
    document.add_bytes(fields.record, catalog.record(product).as_bytes());
    document
}

#[cfg(test)]
mod tests {
    use super::super::synthetic_catalog::{SEED, queries};
    use super::*;

    /// Returns the tokens of a text as the index has them.
    fn stems(text: &str) -> Vec<String> {
        let mut analyzer = analyzer();
        let mut stems = Vec::new();
        analyzer.token_stream(text).process(&mut |token| stems.push(token.text.clone()));
        stems
    }

    #[test]
    fn totals_equal_those_of_a_full_scan() {
        let catalog = SyntheticCatalog::new(3_000, SEED);
        let bare = BareTantivy::build(&catalog).unwrap();
        let texts: Vec<(Product, Vec<String>)> = (0..catalog.size)
            .map(|number| catalog.product(number))
            .map(|product| {
                let (path, category) =
                    (catalog.category_path(&product), catalog.category_name(&product));
                let Product { name, brand, description, colour, material, .. } = &product;
                let text =
                    format!("{name} {brand} {category} {path} {description} {colour} {material}");
                let stems = stems(&text);
                (product, stems)
            })
            .collect();
        for query in queries(&catalog, &catalog.frequencies(), 3) {
            let required = stems(&query.words.join(" "));
            let fits = |(product, stems): &&(Product, Vec<String>)| {
                let category = query.category.as_deref();
                required.iter().all(|stem| stems.contains(stem))
                    && !catalog.merchant_for(product).is_suspended()
                    && query.store.as_ref().is_none_or(|(index, _)| *index == product.merchant)
                    && query.max_price_minor.is_none_or(|most| product.price_minor <= most)
                    && (!query.in_stock_only || product.in_stock)
                    && category.is_none_or(|path| path == catalog.category_path(product))
            };
            let expected = texts.iter().filter(fits).count();
            let (records, total) = bare.search(&query).unwrap();
            assert_eq!(total, u64::try_from(expected).unwrap(), "{query:?}");
            assert_eq!(records.len(), expected.min(20));
        }
    }
}
