//! The schema of a document. A change must increment `FORMAT`: indexes of both formats then exist side by side until
//! the new one has caught up.

use tantivy::schema::{
    BytesOptions, FAST, Field, INDEXED, IndexRecordOption, NumericOptions, STORED, Schema,
    TextFieldIndexing, TextOptions,
};
use tantivy::{IndexSettings, Order};

/// The document format this binary reads and writes.
pub(crate) const FORMAT: i32 = 1;

/// The fields of a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields {
    /// Product id, sixteen bytes; identifies the document that an update replaces.
    pub(crate) id: Field,
    /// Store number. Documents are sorted by it.
    pub(crate) store: Field,
    /// First half of the product id; breaks ties the same way in every segment.
    pub(crate) tie: Field,
    /// Stems of all words of the product.
    pub(crate) text: Field,
    /// Stems of the words of name and brand.
    pub(crate) title: Field,
    /// Words of name, brand and category without stemming, for spelling corrections and completions.
    pub(crate) word: Field,
    /// Terms for exact matches: GTINs, SKUs, MPN, external id and the whole name.
    pub(crate) exact: Field,
    /// Category path, its ancestors, and the name of each level.
    pub(crate) category: Field,
    /// Category path, for facets.
    pub(crate) category_path: Field,
    /// Brand, normalized.
    pub(crate) brand: Field,
    /// Brand as written, for facets.
    pub(crate) brand_name: Field,
    /// Price in millionths of the currency unit, so that currencies of two and of six decimals compare.
    pub(crate) price_micros: Field,
    /// Index of the currency among the supported ones.
    pub(crate) currency: Field,
    /// Index of the stock status among all of them.
    pub(crate) stock: Field,
    pub(crate) condition: Field,
    /// Time of listing, in seconds since the Unix epoch.
    pub(crate) listed_at: Field,
    /// Time of the last change, in microseconds since the Unix epoch, for the comparison with PostgreSQL.
    pub(crate) updated_at: Field,
    /// Product record without the store's part, see `document`.
    pub(crate) record: Field,
}

/// Returns the options of a stemmed field: with frequencies, without positions, because there are no phrase queries.
fn words(stored: IndexRecordOption) -> TextOptions {
    let indexing = TextFieldIndexing::default().set_tokenizer("raw").set_index_option(stored);
    TextOptions::default().set_indexing_options(indexing)
}

/// Returns the options of a field that only filters.
fn terms() -> TextOptions {
    let indexing = TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_fieldnorms(false)
        .set_index_option(IndexRecordOption::Basic);
    TextOptions::default().set_indexing_options(indexing)
}

/// Returns the schema and its fields.
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

/// Returns the settings of an index. Documents are sorted by store, so that a search in one store reads few blocks.
pub(crate) fn settings() -> IndexSettings {
    IndexSettings {
        sort_by_field: Some(tantivy::IndexSortByField {
            field: String::from("store"),
            order: Order::Asc,
        }),
        // Results are far apart, and a whole block is decompressed for each.
        docstore_blocksize: 4_096,
        ..IndexSettings::default()
    }
}
