//! Builds the document of a product, and the product record from a stored document.

use catalog::{Product, ProductPolicies};
use merchants::Store;
use primitives::{Currency, Money, ProductId};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{TantivyDocument, Term};

use crate::language::{Language, Stemmers, Tokenizer};
use crate::schema::Fields;

/// Placeholder for the site URL, which the writer does not know. Merchant data cannot contain it where it is
/// replaced: URLs of merchants begin with `http`, and quotes in other texts are escaped.
const SITE_URL_PLACEHOLDER: &str = "souk-site:";

/// Returns the term that identifies a product.
pub(crate) fn id_term(fields: &Fields, id: ProductId) -> Term {
    Term::from_field_bytes(fields.id, id.uuid().as_bytes())
}

/// Builds the documents of one store's products.
pub(crate) struct DocumentBuilder<'store> {
    fields: Fields,
    store: &'store Store,
    tokenizer: Tokenizer,
    stemmers: Stemmers,
}

impl<'store> DocumentBuilder<'store> {
    pub(crate) fn new(fields: Fields, store: &'store Store) -> Self {
        let stemmers = Stemmers::new(&Language::of_store(&store.languages));
        Self { fields, store, tokenizer: Tokenizer::new(), stemmers }
    }

    /// Returns the document of a product, or `None` if its currency is not supported.
    pub(crate) fn build(&mut self, product: &Product) -> Option<TantivyDocument> {
        let facts = &product.facts;
        let currency = currency_number(facts.price.currency())?;
        let fields = self.fields;
        let mut document = TantivyDocument::new();
        let id = product.id.uuid();
        document.add_bytes(fields.id, id.as_bytes());
        document.add_u64(fields.store, u64::from(self.store.number));
        document.add_u64(fields.tie, id.as_u64_pair().0);
        document.add_u64(fields.price_micros, price_micros(facts.price));
        document.add_u64(fields.currency, currency);
        document.add_u64(fields.stock, stock_number(facts.stock_status));
        document.add_u64(fields.condition, condition_number(facts.condition));
        document.add_i64(fields.listed_at, product.listed_at.unix_seconds());
        document.add_i64(fields.updated_at, product.updated_at.unix_micros());
        document.add_text(fields.category_path, &product.category.path);
        document.add_text(fields.brand_name, &facts.brand);
        document.add_bytes(fields.record, &stored_record(self.store, product)?);
        self.add_words(&mut document, product);
        self.add_terms(&mut document, product);
        Some(document)
    }

    /// Adds the words of the product.
    fn add_words(&mut self, document: &mut TantivyDocument, product: &Product) {
        let facts = &product.facts;
        let mut title = self.tokenizer.words(&facts.name);
        title.extend(self.tokenizer.words(&facts.brand));
        let mut text = title.clone();
        let category = self.tokenizer.words(&product.category.name);
        let mut shown = title.clone();
        shown.extend(category.iter().cloned());
        text.extend(category);
        text.extend(self.tokenizer.words(&product.category.path));
        text.extend(self.tokenizer.words(&facts.description));
        for value in facts.attributes.values() {
            text.extend(self.tokenizer.words(value));
        }
        for variant in &product.variants {
            for value in variant.facts.options.values() {
                text.extend(self.tokenizer.words(value));
            }
        }
        document.add_pre_tokenized_text(self.fields.title, self.tokens(&title));
        document.add_pre_tokenized_text(self.fields.text, self.tokens(&text));
        shown.sort_unstable();
        shown.dedup();
        for word in shown {
            document.add_text(self.fields.word, word);
        }
    }

    /// Returns the stems of the words; all stems of one word have its position.
    fn tokens(&self, words: &[String]) -> PreTokenizedString {
        let mut tokens = Vec::with_capacity(words.len());
        for (position, word) in words.iter().enumerate() {
            for text in self.stemmers.stems(word) {
                tokens.push(Token { position, text, ..Token::default() });
            }
        }
        PreTokenizedString { text: String::new(), tokens }
    }

    /// Adds the identifiers of the product and the terms it is filtered by.
    fn add_terms(&mut self, document: &mut TantivyDocument, product: &Product) {
        let facts = &product.facts;
        let fields = self.fields;
        let mut exact = vec![title_term(&self.tokenizer.normalized(&facts.name))];
        let variants = product.variants.iter().map(|variant| &variant.facts);
        let skus = std::iter::once(&facts.sku).chain(variants.clone().map(|facts| &facts.sku));
        exact.extend(skus.map(|sku| identifier_term(sku)));
        exact.push(identifier_term(&facts.external_id));
        exact.extend(facts.mpn.iter().map(|mpn| identifier_term(mpn)));
        let gtins = facts.gtin.iter().chain(variants.filter_map(|facts| facts.gtin.as_ref()));
        exact.extend(gtins.map(|gtin| gtin_term(gtin)));
        exact.sort_unstable();
        exact.dedup();
        for term in exact {
            document.add_text(fields.exact, term);
        }
        for term in category_terms(&product.category.path) {
            document.add_text(fields.category, term);
        }
        document.add_text(fields.brand, self.tokenizer.normalized(&facts.brand));
    }
}

/// Returns the exact-match term of a product name, which is normalized already.
pub(crate) fn title_term(normalized: &str) -> String {
    format!("t:{normalized}")
}

/// Returns the exact-match term of a SKU, MPN or external id, regardless of case and whitespace.
pub(crate) fn identifier_term(identifier: &str) -> String {
    let compact: String = identifier.chars().filter(|letter| !letter.is_whitespace()).collect();
    format!("n:{}", compact.to_lowercase())
}

/// Returns the exact-match term of a GTIN, padded to fourteen digits.
pub(crate) fn gtin_term(gtin: &str) -> String {
    format!("g:{gtin:0>14}")
}

/// Returns a category path, all its ancestors, and the name of each level.
fn category_terms(path: &str) -> Vec<String> {
    let mut terms: Vec<String> = path.split('/').map(str::to_owned).collect();
    let ends = path.char_indices().filter(|(_, letter)| *letter == '/').map(|(at, _)| at);
    terms.extend(ends.map(|end| path[..end].to_owned()));
    terms.push(path.to_owned());
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// Returns a price in millionths of the currency unit. A negative price becomes 0, an overflow saturates.
pub(crate) fn price_micros(price: Money) -> u64 {
    let factor = 10_i64.saturating_pow(6_u32.saturating_sub(price.currency().decimals()));
    u64::try_from(price.minor().saturating_mul(factor)).unwrap_or(0)
}

/// Returns the index of a supported currency.
pub(crate) fn currency_number(currency: Currency) -> Option<u64> {
    let index = Currency::SUPPORTED.iter().position(|supported| *supported == currency)?;
    u64::try_from(index).ok()
}

/// Returns the index of a stock status among all statuses.
pub(crate) fn stock_number(status: catalog::StockStatus) -> u64 {
    let index = catalog::StockStatus::ALL.iter().position(|other| *other == status);
    index.and_then(|index| u64::try_from(index).ok()).unwrap_or(u64::MAX)
}

fn condition_number(condition: catalog::Condition) -> u64 {
    match condition {
        catalog::Condition::New => 0,
        catalog::Condition::Refurbished => 1,
        catalog::Condition::Used => 2,
    }
}

/// Returns the record without the fields that depend on the store, in three lines: the product's own policies,
/// the JSON before the `merchant` field, and the JSON after the `policies` field.
fn stored_record(store: &Store, product: &Product) -> Option<Vec<u8>> {
    let record = product.record(store, SITE_URL_PLACEHOLDER);
    let store_json = format!(
        r#""merchant":{},"policies":{},"#,
        serde_json::to_string(&record.merchant).ok()?,
        serde_json::to_string(&record.policies).ok()?,
    );
    let whole = serde_json::to_string(&record).ok()?;
    let (head, tail) = whole.split_once(&store_json)?;
    let own = serde_json::to_string(&product.facts.policies).ok()?;
    Some(format!("{own}\n{head}\n{tail}").into_bytes())
}

/// Returns the record, completed with the current data of the store.
pub(crate) fn record(stored: &[u8], store: &StoreFragment, site_url: &str) -> Option<String> {
    let stored = std::str::from_utf8(stored).ok()?;
    let (own, rest) = stored.split_once('\n')?;
    let (head, tail) = rest.split_once('\n')?;
    let own_json;
    let json = if own == "{}" {
        &store.json
    } else {
        let own: ProductPolicies = serde_json::from_str(own).ok()?;
        own_json = store_json(&store.store, own)?;
        &own_json
    };
    let mut text = String::with_capacity(stored.len() + json.len());
    text.push_str(head);
    text.push_str(json);
    push_tail(&mut text, tail, site_url);
    Some(text)
}

/// Appends the end of a record, with the placeholder replaced by the site URL.
fn push_tail(text: &mut String, tail: &str, site_url: &str) {
    const PLACEHOLDER: &str = concat!(r#""url":""#, "souk-site:");
    let mut rest = tail;
    while let Some((before, after)) = rest.split_once(PLACEHOLDER) {
        text.push_str(before);
        text.push_str(r#""url":""#);
        text.push_str(site_url);
        rest = after;
    }
    text.push_str(rest);
}

/// The store's part of the records of its products.
#[derive(Debug, Clone)]
pub(crate) struct StoreFragment {
    store: std::sync::Arc<Store>,
    /// For products without policies of their own.
    json: String,
}

impl StoreFragment {
    pub(crate) fn new(store: std::sync::Arc<Store>) -> Option<Self> {
        let json = store_json(&store, ProductPolicies::default())?;
        Some(Self { store, json })
    }
}

/// Returns the `merchant` and `policies` fields of a record as JSON.
fn store_json(store: &Store, own: ProductPolicies) -> Option<String> {
    let merchant = catalog::MerchantRecord::of(store);
    Some(format!(
        r#""merchant":{},"policies":{},"#,
        serde_json::to_string(&merchant).ok()?,
        serde_json::to_string(&own.record(store)).ok()?,
    ))
}

/// Returns the record without the `merchant` and `policies` fields.
pub(crate) fn record_without_store(stored: &[u8]) -> Option<String> {
    let stored = std::str::from_utf8(stored).ok()?;
    let (_, rest) = stored.split_once('\n')?;
    let (head, tail) = rest.split_once('\n')?;
    Some(format!("{head}{tail}"))
}
