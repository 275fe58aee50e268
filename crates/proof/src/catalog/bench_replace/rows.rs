//! Generated products of a large store: about half a kilobyte of JSON each, all different.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use catalog::{Amount, Category, ImageDraft, ProductDraft};
use primitives::{CategoryId, Currency, Id};

use crate::report::Failure;

/// Number of categories of the products.
pub(super) const CATEGORIES: u32 = 20;

const ADJECTIVES: [&str; 8] =
    ["Small", "Large", "Blue", "Green", "Hand-thrown", "Stackable", "Enamelled", "Plain"];
const THINGS: [&str; 6] = ["Mug", "Bowl", "Plate", "Jug", "Teapot", "Casserole"];

/// Returns the product with this number. Price and description depend on the `edition`.
pub(super) fn draft(family: &str, number: u32, edition: u32) -> ProductDraft {
    let adjective = ADJECTIVES[usize::try_from(number).unwrap_or(0) % ADJECTIVES.len()];
    let thing = THINGS[usize::try_from(number / 8).unwrap_or(0) % THINGS.len()];
    let external_id = external_id(family, number);
    let price = 500 + i64::from(number % 9_000) + i64::from(edition) * 10;
    let attribute = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let attributes = [("material", "stoneware"), ("colour", adjective), ("capacity", "330 ml")];
    ProductDraft {
        name: Some(format!("{adjective} {thing} No. {number}")),
        description: Some(format!(
            "{adjective} {thing}, fired twice & glazed by hand in edition {edition}. Goes into the \
             oven, the microwave and the dishwasher; the foot is ground so that it does not scratch \
             the table. Article {number} of the house."
        )),
        brand: Some(String::from("Salgueira")),
        gtin: Some(gtin(number)),
        mpn: Some(format!("SG-{number}")),
        url: Some(format!("https://attic.example/shop/{external_id}")),
        category: category_path(number % CATEGORIES),
        price: Some(amount(price)),
        list_price: number.is_multiple_of(4).then(|| amount(price + 300)),
        stock_quantity: Some(i64::from(number % 40)),
        images: vec![ImageDraft {
            url: format!("https://cdn.attic.example/{external_id}.jpg"),
            alt: None,
        }],
        attributes: attributes.into_iter().map(attribute).collect::<BTreeMap<_, _>>(),
        external_id,
        ..ProductDraft::default()
    }
}

pub(super) fn external_id(family: &str, number: u32) -> String {
    format!("{family}{number:07}")
}

fn amount(minor: i64) -> Amount {
    Amount::new(format!("{}.{:02}", minor / 100, minor % 100))
}

fn category_path(category: u32) -> Vec<String> {
    vec![String::from("Kitchen"), format!("Section {category}")]
}

/// Returns a GTIN-13 with a valid check digit.
fn gtin(number: u32) -> String {
    let digits = format!("40{number:010}");
    let weighted = digits.bytes().zip([1, 3].into_iter().cycle());
    let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    format!("{digits}{}", (10 - sum % 10) % 10)
}

/// Returns the root category and its subcategories, with fixed ids.
pub(super) fn categories() -> Vec<Category> {
    let top = CategoryId::from_random(1);
    let category = |number: u32| Category {
        id: category_id(number),
        parent: Some(top),
        path: format!("kitchen/section-{number}"),
        name: format!("Section {number}"),
    };
    let root = Category {
        id: top,
        parent: None,
        path: String::from("kitchen"),
        name: String::from("Kitchen"),
    };
    [root].into_iter().chain((0..CATEGORIES).map(category)).collect()
}

pub(super) fn category_id(number: u32) -> CategoryId {
    CategoryId::from_random(100 + u128::from(number))
}

/// Returns the drafts as NDJSON.
pub(super) fn as_feed(drafts: &[ProductDraft]) -> Result<Vec<u8>, Failure> {
    let mut feed = Vec::new();
    for draft in drafts {
        serde_json::to_writer(&mut feed, draft)?;
        feed.push(b'\n');
    }
    Ok(feed)
}

/// Returns the drafts as rows for `COPY`: validated, normalized and with their ids.
pub(super) fn as_copy(drafts: &[ProductDraft], batch: usize) -> Result<String, Failure> {
    let mut text = String::new();
    for (index, draft) in drafts.iter().enumerate() {
        let incoming =
            catalog::check(draft, Currency::EUR).map_err(|errors| format!("{errors:?}"))?;
        let facts = incoming.facts;
        let category = facts.category.rsplit('-').next().unwrap_or_default().parse()?;
        let id = uuid::Uuid::from_u128(1_000_000 + u128::try_from(index)?);
        let or_null = |text: Option<String>| text.unwrap_or_else(|| String::from("\\N"));
        let columns = [
            (index / batch).to_string(),
            id.to_string(),
            facts.external_id,
            category_id(category).uuid().to_string(),
            facts.sku,
            facts.name,
            facts.description,
            facts.brand,
            or_null(facts.gtin),
            or_null(facts.mpn),
            or_null(facts.url),
            facts.condition.to_string(),
            facts.price.minor().to_string(),
            facts.price.currency().code().to_owned(),
            or_null(facts.list_price_minor.map(|list| list.to_string())),
            facts.stock_status.to_string(),
            or_null(facts.stock_quantity.map(|quantity| quantity.to_string())),
            serde_json::to_string(&facts.attributes)?,
            serde_json::to_string(&facts.images)?,
            serde_json::to_string(&facts.policies)?,
            id.to_string(),
        ];
        writeln!(text, "{}", columns.join("\t"))?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_passes_the_check_and_is_of_ordinary_size() {
        let drafts: Vec<ProductDraft> = (0..100).map(|number| draft("a", number, 1)).collect();
        assert_eq!(as_copy(&drafts, 10).unwrap().lines().count(), 100);
        let bytes = as_feed(&drafts).unwrap().len() / drafts.len();
        assert!((400..800).contains(&bytes), "{bytes} bytes a row");
    }
}
