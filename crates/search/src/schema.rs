//! The form of a document. Whoever changes it raises `FORMAT`: old and new indexes then live side by
//! side until the new one has caught up.

use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STORED, Schema,
    TextFieldIndexing, TextOptions,
};
use tantivy::{IndexSettings, Order};

/// The form of the documents this binary reads and writes.
pub(crate) const FORMAT: i32 = 1;

/// The columns and term lists of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// The product's id, sixteen bytes: by it a document is replaced.
    pub(crate) id: Field,
    /// The store's number. Documents are sorted by it.
    pub(crate) store: Field,
    /// The first half of the id: it orders what is equal otherwise, the same way in every segment.
    pub(crate) tie: Field,
    /// All words of the product, as stems.
    pub(crate) text: Field,
    /// The words of its name and brand, as stems.
    pub(crate) title: Field,
    /// The words of name, brand and category as they are written: what misspelt and half-typed words are
    /// compared with.
    pub(crate) word: Field,
    /// What names it exactly: article numbers, SKUs, the whole name.
    pub(crate) exact: Field,
    /// Its place and all places above, as paths and as single names.
    pub(crate) category: Field,
    /// Its place, for counting.
    pub(crate) category_path: Field,
    /// Its brand, folded.
    pub(crate) brand: Field,
    /// Its brand as written, for counting.
    pub(crate) brand_name: Field,
    /// Its price in millionths, so that currencies of two and of six decimals compare.
    pub(crate) price_micros: Field,
    /// The currency, by its place among the supported ones.
    pub(crate) currency: Field,
    /// The stock status, by its place among all of them.
    pub(crate) stock: Field,
    /// New or not.
    pub(crate) condition: Field,
    /// When it was listed, in seconds.
    pub(crate) listed_at: Field,
    /// When it last changed, in microseconds: what the exact comparison with PostgreSQL looks at.
    pub(crate) updated_at: Field,
    /// The record, as answers carry it.
    pub(crate) record: Field,
}

/// Stems with their numbers of occurrences; no positions, because no query asks for phrases.
fn words(stored: IndexRecordOption) -> TextOptions {
    let indexing = TextFieldIndexing::default().set_tokenizer("raw").set_index_option(stored);
    TextOptions::default().set_indexing_options(indexing)
}

/// Terms that only filter.
fn terms() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    TextOptions::default().set_indexing_options(indexing)
}

/// The schema and its fields.
pub(crate) fn schema() -> (Schema, Fields) {
    let mut schema = Schema::builder();
    let column = || NumericOptions::default() | FAST;
    let text = || TextOptions::default().set_fast("raw");
    let fields = Fields {
        id: schema.add_bytes_field("id", BytesOptions::default() | INDEXED),
        store: schema.add_u64_field("store", NumericOptions::default() | FAST | INDEXED),
        tie: schema.add_u64_field("tie", column()),
        text: schema.add_text_field("text", words(IndexRecordOption::WithFreqs)),
        title: schema.add_text_field("title", words(IndexRecordOption::WithFreqs)),
        word: schema.add_text_field("word", terms()),
        exact: schema.add_text_field("exact", terms()),
        category: schema.add_text_field("category", terms()),
        category_path: schema.add_text_field("category_path", text()),
        brand: schema.add_text_field("brand", terms()),
        brand_name: schema.add_text_field("brand_name", text()),
        price_micros: schema.add_u64_field("price_micros", column()),
        currency: schema.add_u64_field("currency", column()),
        stock: schema.add_u64_field("stock", column()),
        condition: schema.add_u64_field("condition", column()),
        listed_at: schema.add_i64_field("listed_at", column()),
        updated_at: schema.add_i64_field("updated_at", column()),
        record: schema.add_bytes_field("record", BytesOptions::default() | STORED),
    };
    (schema.build(), fields)
}

/// Documents of one store lie side by side, so that a search in one store touches few blocks.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        sort_by_field: Some(tantivy::IndexSortByField {
            field: String::from("store"),
            order: Order::Asc,
        }),
        // Results lie far apart, and for each a whole block is unpacked.
        docstore_blocksize: 4_096,
        ..IndexSettings::default()
    }
}
