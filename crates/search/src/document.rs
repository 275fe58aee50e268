//! From a product to its document, and from a document to its record.

use catalog::{Product, ProductPolicies};
use merchants::Store;
use primitives::{Currency, Money, ProductId};
use tantivy::tokenizer::{PreTokenizedString, Token};
use tantivy::{TantivyDocument, Term};

use crate::language::{Language, Stems, Words};
use crate::schema::Fields;

/// Stands for the address of this service, which the writer need not know. Nobody can smuggle it in:
/// addresses of merchants begin with `http`, and quotes in other texts are escaped.
const SITE: &str = "souk-site:";

/// The term that names a product.
pub(crate) fn id_term(fields: &Fields, id: ProductId) -> Term {
    Term::from_field_bytes(fields.id, id.uuid().as_bytes())
}

/// Makes documents of one store's products.
pub(crate) struct Documents<'store> {
    fields: Fields,
    store: &'store Store,
    words: Words,
    stems: Stems,
}

impl<'store> Documents<'store> {
    pub(crate) fn new(fields: Fields, store: &'store Store) -> Self {
        let stems = Stems::new(&Language::of_store(&store.languages));
        Self { fields, store, words: Words::new(), stems }
    }

    /// The document of a product; none for one that agents cannot pay for.
    pub(crate) fn document(&mut self, product: &Product) -> Option<TantivyDocument> {
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
        self.add_names(&mut document, product);
        Some(document)
    }

    /// What words find it by.
    fn add_words(&mut self, document: &mut TantivyDocument, product: &Product) {
        let facts = &product.facts;
        let mut title = self.words.of(&facts.name);
        title.extend(self.words.of(&facts.brand));
        let mut text = title.clone();
        let category = self.words.of(&product.category.name);
        let mut shown = title.clone();
        shown.extend(category.iter().cloned());
        text.extend(category);
        text.extend(self.words.of(&product.category.path));
        text.extend(self.words.of(&facts.description));
        for value in facts.attributes.values() {
            text.extend(self.words.of(value));
        }
        for variant in &product.variants {
            for value in variant.facts.options.values() {
                text.extend(self.words.of(value));
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

    /// Its stems, those of one word at one place.
    fn tokens(&self, words: &[String]) -> PreTokenizedString {
        let mut tokens = Vec::with_capacity(words.len());
        for (position, word) in words.iter().enumerate() {
            for text in self.stems.of(word) {
                tokens.push(Token { position, text, ..Token::default() });
            }
        }
        PreTokenizedString { text: String::new(), tokens }
    }

    /// What names it, and what it is filtered by.
    fn add_names(&mut self, document: &mut TantivyDocument, product: &Product) {
        let facts = &product.facts;
        let fields = self.fields;
        let mut exact = vec![title_name(&self.words.folded(&facts.name))];
        let variants = product.variants.iter().map(|variant| &variant.facts);
        let skus = std::iter::once(&facts.sku).chain(variants.clone().map(|facts| &facts.sku));
        exact.extend(skus.map(|sku| number_name(sku)));
        exact.push(number_name(&facts.external_id));
        exact.extend(facts.mpn.iter().map(|mpn| number_name(mpn)));
        let gtins = facts.gtin.iter().chain(variants.filter_map(|facts| facts.gtin.as_ref()));
        exact.extend(gtins.map(|gtin| gtin_name(gtin)));
        exact.sort_unstable();
        exact.dedup();
        for name in exact {
            document.add_text(fields.exact, name);
        }
        for place in places(&product.category.path) {
            document.add_text(fields.category, place);
        }
        document.add_text(fields.brand, self.words.folded(&facts.brand));
    }
}

/// How a whole name stands among the exact names.
pub(crate) fn title_name(folded: &str) -> String {
    format!("t:{folded}")
}

/// How a number of the merchant or the maker stands among the exact names: case and blanks do not count.
pub(crate) fn number_name(number: &str) -> String {
    let kept: String = number.chars().filter(|letter| !letter.is_whitespace()).collect();
    format!("n:{}", kept.to_lowercase())
}

/// How an article number stands among the exact names: with fourteen digits.
pub(crate) fn gtin_name(gtin: &str) -> String {
    format!("g:{gtin:0>14}")
}

/// A path, all paths above it, and each of its parts by itself.
fn places(path: &str) -> Vec<String> {
    let mut places: Vec<String> = path.split('/').map(str::to_owned).collect();
    let ends = path.char_indices().filter(|(_, letter)| *letter == '/').map(|(at, _)| at);
    places.extend(ends.map(|end| path[..end].to_owned()));
    places.push(path.to_owned());
    places.sort_unstable();
    places.dedup();
    places
}

/// A price in millionths. What is below zero or beyond all sense is as far as a number goes.
pub(crate) fn price_micros(price: Money) -> u64 {
    let factor = 10_i64.saturating_pow(6_u32.saturating_sub(price.currency().decimals()));
    u64::try_from(price.minor().saturating_mul(factor)).unwrap_or(0)
}

/// The number of a currency agents can pay in.
pub(crate) fn currency_number(currency: Currency) -> Option<u64> {
    let place = Currency::SUPPORTED.iter().position(|known| *known == currency)?;
    u64::try_from(place).ok()
}

/// The number of a stock status: its place among all of them.
pub(crate) fn stock_number(status: catalog::StockStatus) -> u64 {
    let place = catalog::StockStatus::ALL.iter().position(|(known, _)| *known == status);
    place.and_then(|place| u64::try_from(place).ok()).unwrap_or(u64::MAX)
}

fn condition_number(condition: catalog::Condition) -> u64 {
    match condition {
        catalog::Condition::New => 0,
        catalog::Condition::Refurbished => 1,
        catalog::Condition::Used => 2,
    }
}

/// The record without what its store can change by itself: three lines, namely the product's own
/// promises, what stands before the merchant, and what stands behind the store's promises.
fn stored_record(store: &Store, product: &Product) -> Option<Vec<u8>> {
    let record = product.record(store, SITE);
    let middle = format!(
        r#""merchant":{},"policies":{},"#,
        serde_json::to_string(&record.merchant).ok()?,
        serde_json::to_string(&record.policies).ok()?,
    );
    let whole = serde_json::to_string(&record).ok()?;
    let (head, tail) = whole.split_once(&middle)?;
    let own = serde_json::to_string(&product.facts.policies).ok()?;
    Some(format!("{own}\n{head}\n{tail}").into_bytes())
}

/// Puts the record together again, with the store as it is now.
pub(crate) fn record(stored: &[u8], store: &StoreText, site_url: &str) -> Option<String> {
    let stored = std::str::from_utf8(stored).ok()?;
    let (own, rest) = stored.split_once('\n')?;
    let (head, tail) = rest.split_once('\n')?;
    let own_middle;
    let middle = if own == "{}" {
        &store.middle
    } else {
        let own: ProductPolicies = serde_json::from_str(own).ok()?;
        own_middle = middle(&store.store, own)?;
        &own_middle
    };
    let mut text = String::with_capacity(stored.len() + middle.len());
    text.push_str(head);
    text.push_str(middle);
    push_tail(&mut text, tail, site_url);
    Some(text)
}

/// The end of a record, with the address of this service in its place.
fn push_tail(text: &mut String, tail: &str, site_url: &str) {
    const MARK: &str = concat!(r#""url":""#, "souk-site:");
    let mut rest = tail;
    while let Some((before, behind)) = rest.split_once(MARK) {
        text.push_str(before);
        text.push_str(r#""url":""#);
        text.push_str(site_url);
        rest = behind;
    }
    text.push_str(rest);
}

/// What a store puts into the records of its products.
#[derive(Debug, Clone)]
pub(crate) struct StoreText {
    store: std::sync::Arc<Store>,
    middle: String,
}

impl StoreText {
    pub(crate) fn new(store: std::sync::Arc<Store>) -> Option<Self> {
        let middle = middle(&store, ProductPolicies::default())?;
        Some(Self { store, middle })
    }
}

fn middle(store: &Store, own: ProductPolicies) -> Option<String> {
    let merchant = catalog::MerchantRecord::of(store);
    Some(format!(
        r#""merchant":{},"policies":{},"#,
        serde_json::to_string(&merchant).ok()?,
        serde_json::to_string(&own.record(store)).ok()?,
    ))
}

/// The record without its store, for whoever only looks at the product.
pub(crate) fn bare_record(stored: &[u8]) -> Option<String> {
    let stored = std::str::from_utf8(stored).ok()?;
    let (_, rest) = stored.split_once('\n')?;
    let (head, tail) = rest.split_once('\n')?;
    Some(format!("{head}{tail}"))
}
