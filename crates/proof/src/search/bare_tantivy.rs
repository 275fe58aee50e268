//! tantivy and nothing else: the same products, the same queries, the same work, called in-process.
//! What it takes is what a search costs before anybody serves it.

mod top;

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

use super::measure::{ByKind, MIXED, Round, bytes_below, figure, micros_each, own_cpu_nanos};
use super::world::{Product, Query, World};
use crate::report::Failure;
use top::{Filters, Found, Top};

/// Threads that index, and threads that search side by side.
const THREADS: usize = 2;
const WRITER_BYTES: usize = 400_000_000;
/// What a word in the name counts, beside what it counts anyway.
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
pub(crate) struct Bare {
    directory: PathBuf,
    fields: Fields,
    searcher: Searcher,
    words: TextAnalyzer,
    /// What the score is multiplied with, by store number; zero for those that may not be found.
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

impl Bare {
    /// Indexes the whole world, straight from where it is made.
    pub(crate) fn build(world: &World) -> Result<Self, Failure> {
        let since = Instant::now();
        let name = format!("souk-bare-{}-{}", std::process::id(), world.size);
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory)?;
        let (schema, fields) = schema();
        let order = tantivy::IndexSortByField { field: String::from("store"), order: Order::Asc };
        let settings = IndexSettings { sort_by_field: Some(order), ..IndexSettings::default() };
        let index = Index::builder().schema(schema).settings(settings).create_in_dir(&directory)?;
        index.tokenizers().register(WORDS, analyzer());
        let mut writer: IndexWriter = index.writer_with_num_threads(THREADS, WRITER_BYTES)?;
        for number in 0..world.size {
            writer.add_document(document(world, fields, &world.product(number)))?;
        }
        writer.commit()?;
        writer.wait_merging_threads()?;
        let searcher = index.reader()?.searcher();
        let build = since.elapsed();
        let words = analyzer();
        Ok(Self { directory, fields, searcher, words, factors: factors(world), build })
    }

    /// Bytes of the index.
    pub(crate) fn bytes(&self) -> Result<u64, Failure> {
        bytes_below(&self.directory)
    }

    /// The records of the best twenty, and how many there are.
    pub(crate) fn search(&self, query: &Query) -> Result<(Vec<Vec<u8>>, u64), Failure> {
        let filters = Filters {
            max_price: query.max_price_minor.and_then(|minor| u64::try_from(minor).ok()),
            in_stock_only: query.in_stock_only,
        };
        let top = Top { factors: std::sync::Arc::clone(&self.factors), filters };
        let Found { best, total } = self.searcher.search(&self.query(query), &top)?;
        let mut records = Vec::with_capacity(best.len());
        for hit in best {
            let document: TantivyDocument = self.searcher.doc(hit.address)?;
            let record = document.get_first(self.fields.record);
            let bytes = record.as_ref().and_then(Value::as_bytes);
            records.push(bytes.ok_or("a document without a record")?.to_vec());
        }
        Ok((records, total))
    }

    /// Every word has to be in the text; in the name it counts more.
    fn query(&self, query: &Query) -> BooleanQuery {
        let mut clauses: Vec<(Occur, Box<dyn tantivy::query::Query>)> = Vec::new();
        let term = |term: Term, option: IndexRecordOption| Box::new(TermQuery::new(term, option));
        let filter =
            |wanted: Term| ConstScoreQuery::new(term(wanted, IndexRecordOption::Basic), 0.0);
        let mut words = self.words.clone();
        let asked = query.words.join(" ");
        let mut stream = words.token_stream(&asked);
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

    /// All queries on two threads.
    pub(crate) fn round(&self, queries: &[Query]) -> Result<Round, Failure> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<u64, Failure> {
            let before = own_cpu_nanos()?;
            while let Some(query) = queries.get(next.fetch_add(1, Ordering::Relaxed)) {
                std::hint::black_box(self.search(query)?);
            }
            Ok(own_cpu_nanos()? - before)
        };
        let since = Instant::now();
        let nanos: Result<Vec<u64>, Failure> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, Result<u64, Failure>>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let per_second = figure(queries.len()) / since.elapsed().as_secs_f64();
        let cpu_micros = micros_each(nanos?.iter().sum(), queries.len());
        Ok(Round { per_second, cpu_micros })
    }

    /// CPU of each kind of query.
    pub(crate) fn by_kind(&self, kinds: &[(String, Vec<Query>)]) -> Result<ByKind, Failure> {
        let (mut by_kind, mut all_nanos, mut all_queries) = (ByKind::new(), 0, 0);
        for (kind, queries) in kinds {
            let before = own_cpu_nanos()?;
            for query in queries {
                std::hint::black_box(self.search(query)?);
            }
            let nanos = own_cpu_nanos()? - before;
            by_kind.insert(kind.clone(), micros_each(nanos, queries.len()));
            all_nanos += nanos;
            all_queries += queries.len();
        }
        by_kind.insert(String::from(MIXED), micros_each(all_nanos, all_queries));
        Ok(by_kind)
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// Half of the score is relevance alone, half is worth what the store is trusted.
#[expect(clippy::cast_possible_truncation, reason = "a factor needs few digits")]
fn factors(world: &World) -> std::sync::Arc<[f32]> {
    let factor = |merchant: &super::world::Merchant| {
        if merchant.is_suspended() { 0.0 } else { (0.5 + 0.5 * merchant.trust) as f32 }
    };
    // No store has the number zero.
    std::iter::once(0.0).chain(world.merchants.iter().map(factor)).collect()
}

fn document(world: &World, fields: Fields, product: &Product) -> TantivyDocument {
    let mut document = TantivyDocument::new();
    let title = format!("{} {}", product.name, product.brand);
    let (path, place) = (world.place_path(product), world.place_name(product));
    let text = format!(
        "{title} {place} {path} {} {} {}",
        product.description, product.colour, product.material
    );
    document.add_u64(fields.store, u64::from(world.owner(product).store_number()));
    document.add_u64(fields.tie, product.id.as_u64_pair().0);
    document.add_u64(fields.price, u64::try_from(product.price_minor).unwrap_or(0));
    document.add_u64(fields.stock, u64::from(product.in_stock));
    document.add_text(fields.title, &title);
    document.add_text(fields.text, &text);
    document.add_text(fields.category, path);
    document.add_bytes(fields.record, world.record(product).as_bytes());
    document
}

#[cfg(test)]
mod tests {
    use super::super::world::{SEED, queries};
    use super::*;

    /// The words of a product, as the index sees them.
    fn stems(text: &str) -> Vec<String> {
        let mut analyzer = analyzer();
        let mut stems = Vec::new();
        analyzer.token_stream(text).process(&mut |token| stems.push(token.text.clone()));
        stems
    }

    #[test]
    fn it_counts_what_going_through_all_products_counts() {
        let world = World::new(3_000, SEED);
        let bare = Bare::build(&world).unwrap();
        let texts: Vec<(Product, Vec<String>)> = (0..world.size)
            .map(|number| world.product(number))
            .map(|product| {
                let (path, place) = (world.place_path(&product), world.place_name(&product));
                let Product { name, brand, description, colour, material, .. } = &product;
                let text =
                    format!("{name} {brand} {place} {path} {description} {colour} {material}");
                let stems = stems(&text);
                (product, stems)
            })
            .collect();
        for query in queries(&world, &world.frequencies(), 3) {
            let wanted = stems(&query.words.join(" "));
            let fits = |(product, stems): &&(Product, Vec<String>)| {
                let category = query.category.as_deref();
                wanted.iter().all(|stem| stems.contains(stem))
                    && !world.owner(product).is_suspended()
                    && query.store.as_ref().is_none_or(|(index, _)| *index == product.merchant)
                    && query.max_price_minor.is_none_or(|most| product.price_minor <= most)
                    && (!query.in_stock_only || product.in_stock)
                    && category.is_none_or(|path| path == world.place_path(product))
            };
            let expected = texts.iter().filter(fits).count();
            let (records, total) = bare.search(&query).unwrap();
            assert_eq!(total, u64::try_from(expected).unwrap(), "{query:?}");
            assert_eq!(records.len(), expected.min(20));
        }
    }
}
