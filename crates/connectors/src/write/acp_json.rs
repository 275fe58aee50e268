//! Writes the product feed of the Agentic Commerce Protocol: a document with `products`.

use std::collections::BTreeMap;

use catalog::{Amount, ImageDraft, ProductDraft, VariantDraft};
use primitives::{Currency, Money};
use serde::Serialize;

use crate::acp_json::wire::{
    Availability, Barcode, Category, Description, Media, Price, Product, Variant, VariantOption,
};

#[derive(Serialize)]
struct Document {
    products: Vec<Product>,
}

pub(super) fn representable(draft: &ProductDraft) -> ProductDraft {
    let mut draft = ProductDraft {
        brand: None,
        mpn: None,
        attributes: BTreeMap::new(),
        rating: None,
        reviews: Vec::new(),
        policies: None,
        listed_at: None,
        ..draft.clone()
    };
    if let [only] = draft.variants.as_slice()
        && only.options.is_empty()
    {
        let only = representable_variant(&draft, only);
        draft.sku = Some(only.sku);
        draft.gtin = only.gtin;
        draft.price = only.price;
        draft.list_price = only.list_price;
        (draft.stock_status, draft.stock_quantity) = (only.stock_status, None);
        draft.variants.clear();
    }
    if draft.variants.is_empty() {
        draft.sku = draft.sku.filter(|sku| *sku != draft.external_id);
        draft.stock_status = status(draft.stock_status, draft.stock_quantity);
        draft.stock_quantity = None;
        return draft;
    }
    let variants =
        draft.variants.iter().map(|variant| representable_variant(&draft, variant)).collect();
    ProductDraft {
        sku: None,
        gtin: None,
        price: None,
        list_price: None,
        stock_status: None,
        stock_quantity: None,
        variants,
        ..draft
    }
}

fn representable_variant(draft: &ProductDraft, variant: &VariantDraft) -> VariantDraft {
    VariantDraft {
        name: variant.name.clone().filter(|name| Some(name) != draft.name.as_ref()),
        price: variant.price.clone().or_else(|| draft.price.clone()),
        stock_status: status(variant.stock_status.clone(), variant.stock_quantity),
        stock_quantity: None,
        ..variant.clone()
    }
}

/// Derives the status from the quantity, which the feed cannot represent.
fn status(status: Option<String>, quantity: Option<i64>) -> Option<String> {
    let derived = quantity.map(|count| if count > 0 { "in_stock" } else { "out_of_stock" });
    status.or_else(|| derived.map(str::to_owned))
}

pub(super) fn write(drafts: &[ProductDraft]) -> Vec<u8> {
    let document = Document { products: drafts.iter().map(product).collect() };
    // Serializing texts, numbers and lists cannot fail.
    serde_json::to_vec_pretty(&document).unwrap_or_default()
}

fn product(draft: &ProductDraft) -> Product {
    let only = [VariantDraft {
        sku: draft.sku.clone().unwrap_or_else(|| draft.external_id.clone()),
        gtin: draft.gtin.clone(),
        price: draft.price.clone(),
        list_price: draft.list_price.clone(),
        stock_status: draft.stock_status.clone(),
        ..VariantDraft::default()
    }];
    let variants = if draft.variants.is_empty() { &only[..] } else { &draft.variants[..] };
    Product {
        id: Some(draft.external_id.clone()),
        title: draft.name.clone(),
        description: draft.description.clone().map(plain),
        url: draft.url.clone(),
        media: draft.images.iter().map(media).collect(),
        variants: variants.iter().map(|one| variant(draft, one)).collect(),
    }
}

fn variant(draft: &ProductDraft, one: &VariantDraft) -> Variant {
    let currency = draft.currency.as_deref().and_then(|code| code.parse().ok());
    let path = super::category_path(&draft.category);
    let image = one.image.clone().map(|url| ImageDraft { url, alt: None });
    let category = Category { value: path.clone(), taxonomy: Some("merchant".to_owned()) };
    let options = one.options.iter();
    let barcode = |value| Barcode { kind: "GTIN".to_owned(), value };
    Variant {
        id: Some(one.sku.clone()),
        title: one.name.clone().or_else(|| draft.name.clone()),
        barcodes: one.gtin.clone().map(barcode).into_iter().collect(),
        price: price(one.price.as_ref(), currency),
        list_price: price(one.list_price.as_ref(), currency),
        availability: one.stock_status.as_deref().map(availability),
        categories: Some(category).filter(|_| !path.is_empty()).into_iter().collect(),
        condition: draft.condition.clone().into_iter().collect(),
        options: options
            .map(|(name, value)| VariantOption { name: name.clone(), value: value.clone() })
            .collect(),
        media: image.iter().map(media).collect(),
        ..Variant::default()
    }
}

fn plain(text: String) -> Description {
    Description { plain: Some(text), ..Description::default() }
}

fn media(image: &ImageDraft) -> Media {
    Media { kind: "image".to_owned(), url: image.url.clone(), alt_text: image.alt.clone() }
}

fn price(amount: Option<&Amount>, currency: Option<Currency>) -> Option<Price> {
    let currency = currency?;
    let money = Money::from_decimal_text(amount?.as_str(), currency).ok()?;
    Some(Price { amount: money.minor().into(), currency: currency.code().to_owned() })
}

fn availability(status: &str) -> Availability {
    let available = !matches!(status, "out_of_stock" | "discontinued");
    let status = if status == "low_stock" { "limited_stock" } else { status };
    Availability { available: Some(available), status: Some(status.to_owned()) }
}
