//! Converts a product of the feed into a draft.

use std::ops::ControlFlow;

use catalog::{
    Amount, FeedSettings, FieldError, FieldErrorCode, GtinSource, ImageDraft, ProductDraft,
    VariantDraft,
};
use primitives::{Currency, Money};

use super::wire::{Availability, Barcode, Description, Media, Price, Product, Variant};
use crate::field_errors;
use crate::gtin::GtinCandidates;
use crate::json;
use crate::sink::Sink;

/// Field names of the protocol, and of a product draft.
const FIELDS: [(&str, &str); 6] = [
    ("id", "external_id"),
    ("title", "name"),
    ("description", "description"),
    ("url", "url"),
    ("media", "images"),
    ("variants", "variants"),
];

/// Reads a product. An invalid variant is reported, and the others are kept.
pub(super) fn read(
    line: u64,
    text: &str,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    let product: Product = match json::parse(text) {
        Ok(product) => product,
        Err(error) => {
            return sink.invalid_row(
                line,
                json::extract_field(text, "id"),
                field_error(text, &error),
            );
        }
    };
    let Some(id) = product.id.clone() else {
        return sink.invalid_row(line, None, field_errors::missing_id());
    };
    if product.variants.is_empty() {
        let missing =
            field_errors::missing("variants", "Every product requires at least one variant.");
        return sink.invalid_row(line, Some(id), missing);
    }
    let mut draft = product_draft(&id, &product);
    let mut currency = None;
    for variant in &product.variants {
        match variant_draft(variant, &draft, settings) {
            Ok((_, Some(other))) if currency.is_some_and(|currency| currency != other) => {
                sink.invalid_row(line, Some(id.clone()), field_errors::mixed_currencies())?;
            }
            Ok((variant, other)) => {
                currency = currency.or(other);
                draft.variants.push(variant);
            }
            Err(error) => sink.invalid_row(line, Some(id.clone()), error)?,
        }
    }
    if draft.variants.is_empty() {
        return ControlFlow::Continue(());
    }
    draft.currency = currency.map(|currency| currency.code().to_owned());
    if product.variants.len() == 1 {
        flatten(&mut draft);
    }
    sink.product(line, draft)
}

fn field_error(text: &str, error: &serde_json::Error) -> FieldError {
    if !error.is_data() {
        return json::not_json();
    }
    let invalid =
        json::object(text).and_then(|object| json::first_invalid_field::<Product>(&object, ""));
    match FIELDS.iter().find(|(theirs, _)| Some(*theirs) == invalid.as_deref()) {
        Some((_, ours)) => FieldError::new(
            *ours,
            FieldErrorCode::InvalidValue,
            "The value does not match the feed specification.",
        ),
        None => {
            field_errors::unreadable_row("The element is not a product of the feed specification.")
        }
    }
}

/// Returns the fields that all variants share; fields that only variants have come from the first variant.
fn product_draft(id: &str, product: &Product) -> ProductDraft {
    let first = &product.variants[0];
    let own = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let description = product.description.as_ref().or(first.description.as_ref());
    let media = if product.media.is_empty() { &first.media } else { &product.media };
    ProductDraft {
        external_id: id.to_owned(),
        name: own(&product.title).or_else(|| own(&first.title)),
        description: description.and_then(text_of),
        url: own(&product.url).or_else(|| own(&first.url)),
        category: category(first),
        condition: first.condition.first().map(|condition| condition_of(condition)),
        images: images(media).collect(),
        ..ProductDraft::default()
    }
}

fn variant_draft(
    variant: &Variant,
    product: &ProductDraft,
    settings: &FeedSettings,
) -> Result<(VariantDraft, Option<Currency>), FieldError> {
    let id = variant.id.clone().filter(|id| !id.trim().is_empty());
    let sku =
        id.ok_or_else(|| field_errors::missing("sku", "Every variant requires an identifier."))?;
    let price = variant.price.as_ref().map(|price| money(price, "price")).transpose()?;
    let list = variant.list_price.as_ref().map(|price| money(price, "list_price")).transpose()?;
    if let (Some(price), Some(list)) = (price, list)
        && price.currency() != list.currency()
    {
        return Err(field_errors::mixed_currencies());
    }
    let options = &variant.options;
    let amount = |money: Money| Amount::new(money.to_decimal_text());
    let title = variant.title.clone().filter(|title| !title.trim().is_empty());
    let draft = VariantDraft {
        name: title.filter(|title| Some(title) != product.name.as_ref()),
        gtin: gtin(variant, &sku, &settings.gtin_source),
        options: options.iter().map(|one| (one.name.clone(), one.value.clone())).collect(),
        price: price.map(amount),
        list_price: list.map(amount),
        stock_status: variant.availability.as_ref().and_then(stock_status),
        stock_quantity: None,
        image: images(&variant.media).next().map(|image| image.url),
        sku,
        ..VariantDraft::default()
    };
    Ok((draft, price.or(list).map(Money::currency)))
}

/// Merges a single variant without options into the product.
fn flatten(draft: &mut ProductDraft) {
    if draft.variants.iter().any(|variant| !variant.options.is_empty()) {
        return;
    }
    let Some(only) = draft.variants.pop() else { return };
    draft.sku = Some(only.sku).filter(|sku| *sku != draft.external_id);
    draft.gtin = only.gtin;
    draft.price = only.price;
    draft.list_price = only.list_price;
    draft.stock_status = only.stock_status;
}

fn money(price: &Price, field: &'static str) -> Result<Money, FieldError> {
    let currency = price.currency.to_ascii_uppercase().parse().map_err(|_| {
        let reason = "Unknown currency; use an ISO 4217 code or USDC.";
        FieldError::new(field, FieldErrorCode::UnknownCurrency, reason)
    })?;
    match price.amount.as_i64() {
        Some(minor) if minor >= 0 => Ok(Money::new(minor, currency)),
        _ => {
            let reason = "Expected a whole number of minor units, such as 1999 for 19.99 EUR.";
            Err(FieldError::new(field, FieldErrorCode::InvalidAmount, reason))
        }
    }
}

fn gtin(variant: &Variant, sku: &str, source: &GtinSource) -> Option<String> {
    let options = &variant.options;
    let barcodes = &variant.barcodes;
    let of_kind = |kinds: &[&str]| {
        let is = |code: &&Barcode| {
            let kind = code.kind.to_ascii_lowercase();
            kinds.iter().any(|wanted| kind.starts_with(wanted))
        };
        barcodes.iter().find(is).map(|code| code.value.as_str())
    };
    let gtin = of_kind(&["gtin", "ean", "upc", "isbn", "jan"]);
    let candidates = GtinCandidates { gtin, sku: Some(sku), mpn: of_kind(&["mpn"]), id: Some(sku) };
    let options = options.iter().map(|one| (one.name.as_str(), one.value.as_str()));
    let codes = barcodes.iter().map(|code| (code.kind.as_str(), code.value.as_str()));
    candidates.find(source, options.chain(codes))
}

fn text_of(description: &Description) -> Option<String> {
    let Description { plain, html, markdown } = description;
    let mut forms = [plain, markdown, html].into_iter().flatten();
    forms.find(|text| !text.trim().is_empty()).cloned()
}

/// Returns the category path of the merchant, else the first that is not a number.
fn category(variant: &Variant) -> Vec<String> {
    let is_merchants = |taxonomy: &Option<String>| taxonomy.as_deref() == Some("merchant");
    let own = variant.categories.iter().find(|category| is_merchants(&category.taxonomy));
    let is_words = |value: &str| !value.bytes().all(|byte| byte.is_ascii_digit());
    let found = own.or_else(|| variant.categories.iter().find(|one| is_words(&one.value)));
    let path = found.map_or("", |category| &category.value);
    let names = path.split('>').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn condition_of(condition: &str) -> String {
    match condition.trim().to_lowercase().as_str() {
        "secondhand" | "second_hand" | "pre_owned" => "used".to_owned(),
        other => other.to_owned(),
    }
}

fn images(media: &[Media]) -> impl Iterator<Item = ImageDraft> {
    let images = media.iter().filter(|one| one.kind.is_empty() || one.kind == "image");
    images.map(|one| ImageDraft { url: one.url.clone(), alt: one.alt_text.clone() })
}

/// Maps the availability. The `available` flag overrides an in-stock status and replaces an unknown status.
fn stock_status(availability: &Availability) -> Option<String> {
    let status = availability.status.as_deref().map(|status| match status {
        "limited_stock" => "low_stock",
        "pre_order" => "preorder",
        "back_order" => "backorder",
        other => other,
    });
    let known = status.filter(|status| catalog::StockStatus::parse(status).is_some());
    let found = match (known, availability.available) {
        (Some("in_stock" | "low_stock") | None, Some(false)) => Some("out_of_stock"),
        (None, Some(true)) => Some("in_stock"),
        (Some(known), _) => Some(known),
        (None, None) => status,
    };
    found.map(str::to_owned)
}
