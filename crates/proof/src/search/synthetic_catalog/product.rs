//! One product.

use std::fmt::Write as _;

use primitives::Timestamp;
use uuid::Uuid;

use super::words::{Place, capital};
use super::{Dice, Kind, Merchant, World};

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
    /// From zero.
    pub(crate) number: u32,
    /// Whose it is, by its index.
    pub(crate) merchant: u32,
    pub(crate) id: Uuid,
    /// The number of its place.
    pub(crate) place: usize,
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
    /// In seconds.
    pub(crate) listed_at: i64,
    /// The ranks of the words of its name without the brand, of its description, and of its place.
    title_ranks: Vec<usize>,
    text_ranks: Vec<usize>,
}

/// What the merchant calls the product of a number.
pub(crate) fn external_id(number: u32) -> String {
    format!("p{number:08}")
}

impl Product {
    /// The ranks of all words of the vocabulary in it, some more than once.
    pub(crate) fn ranks(&self) -> impl Iterator<Item = usize> {
        self.title_ranks.iter().chain(&self.text_ranks).copied()
    }

    /// What the merchant calls it.
    pub(crate) fn external_id(&self) -> String {
        external_id(self.number)
    }

    /// When it was listed, and, for all alike, when it last changed.
    pub(crate) fn moments(&self) -> (Timestamp, Timestamp) {
        let changed = LISTED_FIRST + i64::from(LISTED_SPAN_SECONDS);
        let moment = |seconds: i64| Timestamp::from_unix_micros(seconds * 1_000_000);
        (moment(self.listed_at), moment(changed))
    }
}

impl World {
    /// The product of a number.
    pub(crate) fn product(&self, number: u32) -> Product {
        let merchant = self.merchant_of(number);
        let dice = &mut self.dice(Kind::Product, u64::from(number));
        let place_number = merchant.places[dice.place(merchant.places.len())];
        let place = &self.places[place_number];
        let brand = &self.brands[self.brand_draw.draw(dice)];
        let (name, title_ranks) = self.name(brand, place, dice);
        let (description, mut text_ranks) = self.description(place, dice);
        text_ranks.extend(place.name_words);
        let price_minor = price_minor(dice);
        let list_price_minor = dice.happens(20).then(|| price_minor + price_minor / 4 + 1);
        let in_stock = dice.happens(85);
        Product {
            number,
            merchant: merchant.index,
            id: self.dice(Kind::ProductId, u64::from(number)).id(),
            place: place_number,
            name,
            brand: brand.clone(),
            description,
            price_minor,
            list_price_minor,
            currency: merchant.currency,
            in_stock,
            quantity: if in_stock { 1 + dice.below(200) } else { 0 },
            gtin: dice.happens(40).then(|| gtin(number)),
            colour: COLOURS[dice.place(COLOURS.len())],
            material: MATERIALS[dice.place(MATERIALS.len())],
            listed_at: LISTED_FIRST + i64::from(dice.below(LISTED_SPAN_SECONDS)),
            title_ranks,
            text_ranks,
        }
    }

    /// Five to nine words; the first is the brand.
    fn name(&self, brand: &str, place: &Place, dice: &mut Dice) -> (String, Vec<usize>) {
        let mut name = brand.to_owned();
        let mut ranks = Vec::new();
        for _ in 0..4 + dice.below(5) {
            let rank = self.rank(place, 65, dice);
            name.push(' ');
            name.push_str(&capital(self.words.text(rank)));
            self.inflect(&mut name, dice);
            ranks.push(rank);
        }
        (name, ranks)
    }

    /// Twenty-five to seventy words in sentences.
    fn description(&self, place: &Place, dice: &mut Dice) -> (String, Vec<usize>) {
        let count = 25 + dice.below(46);
        let mut text = String::with_capacity(500);
        let mut ranks = Vec::new();
        let mut left_in_sentence = 0;
        for index in 0..count {
            let rank = self.rank(place, 30, dice);
            ranks.push(rank);
            let starts = left_in_sentence == 0;
            if starts {
                left_in_sentence = 6 + dice.below(9);
                text.push_str(if index == 0 { "" } else { ". " });
                text.push_str(&capital(self.words.text(rank)));
            } else {
                text.push(' ');
                text.push_str(self.words.text(rank));
            }
            self.inflect(&mut text, dice);
            left_in_sentence -= 1;
        }
        text.push('.');
        (text, ranks)
    }

    /// A word of the place, so many times in a hundred, or any word.
    fn rank(&self, place: &Place, percent: u32, dice: &mut Dice) -> usize {
        if dice.happens(percent) { self.words.draw_of(place, dice) } else { self.words.draw(dice) }
    }

    /// Now and then a word stands in the plural.
    #[expect(clippy::unused_self, reason = "it belongs to how this world speaks")]
    fn inflect(&self, text: &mut String, dice: &mut Dice) {
        if dice.happens(8) {
            text.push('s');
        }
    }

    /// The merchant of a product, by its index.
    pub(crate) fn owner(&self, product: &Product) -> &Merchant {
        &self.merchants[usize::try_from(product.merchant).unwrap_or(0)]
    }

    pub(crate) fn place_path(&self, product: &Product) -> &str {
        &self.places[product.place].path
    }

    pub(crate) fn place_name(&self, product: &Product) -> &str {
        &self.places[product.place].name
    }

    pub(crate) fn attributes(product: &Product) -> String {
        format!(r#"{{"colour": "{}", "material": "{}"}}"#, product.colour, product.material)
    }

    pub(crate) fn url(&self, product: &Product) -> String {
        format!("https://{}.example/p/{}", self.owner(product).slug, product.external_id())
    }

    pub(crate) fn images(&self, product: &Product) -> String {
        let url =
            format!("https://cdn.{}.example/{}.jpg", self.owner(product).slug, product.number);
        format!(r#"[{{"url": "{url}", "alt": "{}"}}]"#, product.name)
    }

    /// The product as an answer would show it: what an index keeps to hand out.
    pub(crate) fn record(&self, product: &Product) -> String {
        let merchant = self.owner(product);
        let (listed_at, updated_at) = product.moments();
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
            self.place_path(product),
            self.place_name(product),
            product.quantity,
            Self::attributes(product),
            self.images(product),
        );
        // Text takes everything that is written.
        debug_assert!(written.is_ok());
        text
    }
}

/// Log-normal: half of all products cost less than 30.
#[expect(clippy::cast_possible_truncation, reason = "a price of six deviations is far below")]
fn price_minor(dice: &mut Dice) -> i64 {
    let price = (3_000_f64.ln() + 1.1 * dice.normal()).exp();
    (price.round() as i64).max(50)
}

/// Thirteen digits, the last one the right check digit. Two of three are sold by one merchant only.
fn gtin(number: u32) -> String {
    let article = if number.is_multiple_of(3) { number % 100_000 } else { number };
    let digits = format!("40{article:010}");
    let weighted = digits.bytes().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}
