//! Generation of products.

use std::fmt::Write as _;

use primitives::Timestamp;
use uuid::Uuid;

use super::vocabulary::{Category, capitalized};
use super::{Merchant, SplitMix64, Stream, SyntheticCatalog};

/// 1 November 2024, in seconds.
const LISTED_FIRST: i64 = 1_730_419_200;
/// Two years.
const LISTED_SPAN_SECONDS: u32 = 63_072_000;
const COLOURS: [&str; 12] = [
    "red", "blue", "green", "black", "white", "grey", "brown", "yellow", "orange", "purple",
    "silver", "golden",
];
const MATERIALS: [&str; 10] =
    ["cotton", "wool", "leather", "steel", "glass", "oak", "linen", "ceramic", "rubber", "paper"];

/// A product.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Product {
    /// Starts at zero.
    pub(crate) number: u32,
    /// Index of the merchant.
    pub(crate) merchant: u32,
    pub(crate) id: Uuid,
    /// Index of the category.
    pub(crate) category: usize,
    pub(crate) name: String,
    pub(crate) brand: String,
    pub(crate) description: String,
    pub(crate) price_minor: i64,
    pub(crate) list_price_minor: Option<i64>,
    pub(crate) currency: &'static str,
    pub(crate) in_stock: bool,
    pub(crate) quantity: u32,
    pub(crate) gtin: Option<String>,
    pub(crate) colour: &'static str,
    pub(crate) material: &'static str,
    /// In seconds since the Unix epoch.
    pub(crate) listed_at: i64,
    /// Ranks of the words of the name, without the brand.
    title_ranks: Vec<usize>,
    /// Ranks of the words of the description and of the category.
    text_ranks: Vec<usize>,
}

/// Returns the external id of the product with this number.
pub(crate) fn external_id(number: u32) -> String {
    format!("p{number:08}")
}

impl Product {
    /// Returns the ranks of all its words of the vocabulary, with duplicates.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = usize> {
        self.title_ranks.iter().chain(&self.text_ranks).copied()
    }

    pub(crate) fn external_id(&self) -> String {
        external_id(self.number)
    }

    /// Returns when it was listed and when it last changed, which is the same for all products.
    pub(crate) fn timestamps(&self) -> (Timestamp, Timestamp) {
        let changed = LISTED_FIRST + i64::from(LISTED_SPAN_SECONDS);
        let timestamp = |seconds: i64| Timestamp::from_unix_micros(seconds * 1_000_000);
        (timestamp(self.listed_at), timestamp(changed))
    }
}

impl SyntheticCatalog {
    /// Returns the product with this number.
    pub(crate) fn product(&self, number: u32) -> Product {
        let merchant = self.merchant_of(number);
        let rng = &mut self.rng(Stream::Product, u64::from(number));
        let category_index = merchant.categories[rng.index(merchant.categories.len())];
        let category = &self.categories[category_index];
        let brand = &self.brands[self.brand_weights.sample(rng)];
        let (name, title_ranks) = self.name(brand, category, rng);
        let (description, mut text_ranks) = self.description(category, rng);
        text_ranks.extend(category.name_words);
        let price_minor = price_minor(rng);
        let list_price_minor = rng.chance(20).then(|| price_minor + price_minor / 4 + 1);
        let in_stock = rng.chance(85);
        Product {
            number,
            merchant: merchant.index,
            id: self.rng(Stream::ProductId, u64::from(number)).id(),
            category: category_index,
            name,
            brand: brand.clone(),
            description,
            price_minor,
            list_price_minor,
            currency: merchant.currency,
            in_stock,
            quantity: if in_stock { 1 + rng.below(200) } else { 0 },
            gtin: rng.chance(40).then(|| gtin(number)),
            colour: COLOURS[rng.index(COLOURS.len())],
            material: MATERIALS[rng.index(MATERIALS.len())],
            listed_at: LISTED_FIRST + i64::from(rng.below(LISTED_SPAN_SECONDS)),
            title_ranks,
            text_ranks,
        }
    }

    /// Returns a name of five to nine words, the first of which is the brand, and the ranks of the others.
    fn name(&self, brand: &str, category: &Category, rng: &mut SplitMix64) -> (String, Vec<usize>) {
        let mut name = brand.to_owned();
        let mut ranks = Vec::new();
        for _ in 0..4 + rng.below(5) {
            let rank = self.rank(category, 65, rng);
            name.push(' ');
            name.push_str(&capitalized(self.vocabulary.text(rank)));
            Self::inflect(&mut name, rng);
            ranks.push(rank);
        }
        (name, ranks)
    }

    /// Returns a description of 25 to 70 words in sentences, and their ranks.
    fn description(&self, category: &Category, rng: &mut SplitMix64) -> (String, Vec<usize>) {
        let count = 25 + rng.below(46);
        let mut text = String::with_capacity(500);
        let mut ranks = Vec::new();
        let mut left_in_sentence = 0;
        for index in 0..count {
            let rank = self.rank(category, 30, rng);
            ranks.push(rank);
            let starts = left_in_sentence == 0;
            if starts {
                left_in_sentence = 6 + rng.below(9);
                text.push_str(if index == 0 { "" } else { ". " });
                text.push_str(&capitalized(self.vocabulary.text(rank)));
            } else {
                text.push(' ');
                text.push_str(self.vocabulary.text(rank));
            }
            Self::inflect(&mut text, rng);
            left_in_sentence -= 1;
        }
        text.push('.');
        (text, ranks)
    }

    /// Returns the rank of a word that is typical of the category with the given probability, otherwise of any
    /// word.
    fn rank(&self, category: &Category, percent: u32, rng: &mut SplitMix64) -> usize {
        if rng.chance(percent) {
            self.vocabulary.sample_for(category, rng)
        } else {
            self.vocabulary.sample(rng)
        }
    }

    /// Makes the last word plural with a probability of 8 %.
    fn inflect(text: &mut String, rng: &mut SplitMix64) {
        if rng.chance(8) {
            text.push('s');
        }
    }

    /// Returns the merchant of a product.
    pub(crate) fn merchant_for(&self, product: &Product) -> &Merchant {
        &self.merchants[usize::try_from(product.merchant).unwrap_or(0)]
    }

    pub(crate) fn category_path(&self, product: &Product) -> &str {
        &self.categories[product.category].path
    }

    pub(crate) fn category_name(&self, product: &Product) -> &str {
        &self.categories[product.category].name
    }

    pub(crate) fn attributes(product: &Product) -> String {
        format!(r#"{{"colour": "{}", "material": "{}"}}"#, product.colour, product.material)
    }

    pub(crate) fn url(&self, product: &Product) -> String {
        format!("https://{}.example/p/{}", self.merchant_for(product).slug, product.external_id())
    }

    pub(crate) fn images(&self, product: &Product) -> String {
        let url = format!(
            "https://cdn.{}.example/{}.jpg",
            self.merchant_for(product).slug,
            product.number
        );
        format!(r#"[{{"url": "{url}", "alt": "{}"}}]"#, product.name)
    }

    /// Returns the product record as JSON, as an index stores it for responses.
    pub(crate) fn record(&self, product: &Product) -> String {
        let merchant = self.merchant_for(product);
        let (listed_at, updated_at) = product.timestamps();
        let mut text = String::with_capacity(1_024);
        let minor = product.price_minor;
        let written = write!(
            text,
            r#"{{"id":"prod_{}","name":"{}","description":"{}","price":{}.{:02},"currency":"{}","stock_status":"{}","merchant":{{"slug":"{}","trust_score":{}}},"sku":"{}","brand":"{}","url":"{}","category":{{"path":"{}","name":"{}"}},"condition":"new","available_quantity":{},"attributes":{},"images":{},"listed_at":"{listed_at}","updated_at":"{updated_at}"}}"#,
            product.id.simple(),
            product.name,
            product.description,
            minor / 100,
            minor % 100,
            product.currency,
            if product.in_stock { "in_stock" } else { "out_of_stock" },
            merchant.slug,
            merchant.trust,
            product.external_id(),
            product.brand,
            self.url(product),
            self.category_path(product),
            self.category_name(product),
            product.quantity,
            Self::attributes(product),
            self.images(product),
        );
        // Writing to a `String` cannot fail.
        debug_assert!(written.is_ok());
        text
    }
}

/// Returns a log-normal price with a median of 30.00.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a price six deviations above the mean is far below the limit"
)]
fn price_minor(rng: &mut SplitMix64) -> i64 {
    let price = (3_000_f64.ln() + 1.1 * rng.normal()).exp();
    (price.round() as i64).max(50)
}

/// Returns a GTIN-13 with a valid check digit. Two of three are used by only one product.
fn gtin(number: u32) -> String {
    let article = if number.is_multiple_of(3) { number % 100_000 } else { number };
    let digits = format!("40{article:010}");
    let weighted = digits.bytes().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}
