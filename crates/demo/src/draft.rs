//! Products as drafts, and the check that every product passes before it is written.

use catalog::{
    Amount, CategoryPath, FieldError, ImageDraft, Incoming, ProductDraft, RatingDraft, VariantDraft,
};
use primitives::{Currency, Id, Money, ProductId, VariantId};

use crate::reviews;
use crate::seed::{SeedError, days_ago};
use crate::world::{Image, Product, Store, Variant};

/// Returns the draft of a product, as its merchant would send it. Image URLs are absolute, because a
/// feed cannot contain relative ones.
#[must_use]
pub fn draft(store: &Store, product: &Product) -> ProductDraft {
    let amount = |minor| amount(minor, &product.currency);
    let rating = product.rating.as_ref().map(|rating| RatingDraft {
        average: Amount::new(format!(
            "{}.{:02}",
            rating.average_hundredths / 100,
            rating.average_hundredths % 100
        )),
        count: i64::from(rating.count),
    });
    ProductDraft {
        external_id: product.sku.clone(),
        name: Some(product.name.clone()),
        description: Some(product.description.clone()),
        brand: Some(product.brand.clone()),
        gtin: product.gtin.clone(),
        category: category_names(store, &product.category),
        condition: Some(product.condition.clone()),
        price: Some(amount(product.price_minor)),
        currency: Some(product.currency.clone()),
        list_price: product.list_price_minor.map(amount),
        stock_status: Some(product.stock_status.to_owned()),
        stock_quantity: product.stock_quantity.map(i64::from),
        images: product.images.iter().map(|one| image(store, one)).collect(),
        attributes: product.attributes.clone(),
        rating,
        variants: product.variants.iter().map(|one| variant(product, one)).collect(),
        listed_at: Some(days_ago(product.created_days_ago).to_string()),
        ..ProductDraft::default()
    }
}

/// Checks a product like one of a feed. Three things that a feed does not express are set afterwards: the
/// fixed ids, category slugs other than the names', and images that Souk serves itself.
pub(crate) fn incoming(store: &Store, product: &Product) -> Result<Incoming, SeedError> {
    let draft = ProductDraft { reviews: reviews::of(store, product), ..draft(store, product) };
    let rejected = |errors: Vec<FieldError>| SeedError::Rejected {
        store: store.slug.clone(),
        sku: product.sku.clone(),
        errors,
    };
    let mut incoming = catalog::check(&draft, store.currency.parse()?).map_err(rejected)?;
    incoming.id = Some(ProductId::from_uuid(product.id));
    for ((id, _), variant) in incoming.variants.iter_mut().zip(&product.variants) {
        *id = Some(VariantId::from_uuid(variant.id));
    }
    incoming.category = CategoryPath::named(&product.category, draft.category);
    incoming.facts.category.clone_from(&product.category);
    for (checked, image) in incoming.facts.images.iter_mut().zip(&product.images) {
        checked.url.clone_from(&image.path);
    }
    Ok(incoming)
}

/// The reduction of a product is that of its cheapest variants.
fn variant(product: &Product, variant: &Variant) -> VariantDraft {
    let is_reduced = variant.price_minor == product.price_minor;
    let list_price = product.list_price_minor.filter(|_| is_reduced);
    VariantDraft {
        sku: variant.sku.clone(),
        name: Some(variant.name.clone()),
        gtin: variant.gtin.clone(),
        options: variant.options.iter().cloned().collect(),
        price: Some(amount(variant.price_minor, &product.currency)),
        list_price: list_price.map(|minor| amount(minor, &product.currency)),
        stock_status: Some(variant.stock_status.to_owned()),
        stock_quantity: variant.stock_quantity.map(i64::from),
        ..VariantDraft::default()
    }
}

/// Returns the names along a path: `home-kitchen/coffee` is `["Home & Kitchen", "Coffee"]`.
fn category_names(store: &Store, path: &str) -> Vec<String> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let category = |end| store.categories.iter().find(|category| category.path == path[..end]);
    ends.filter_map(category).map(|category| category.name.clone()).collect()
}

fn image(store: &Store, image: &Image) -> ImageDraft {
    ImageDraft {
        url: format!("https://{}.example{}", store.slug, image.path),
        alt: Some(image.alt.clone()),
    }
}

/// The check rejects an unknown currency, so that the amount is not used.
fn amount(minor: i64, currency: &str) -> Amount {
    let currency = currency.parse().unwrap_or(Currency::USD);
    Amount::new(Money::new(minor, currency).to_decimal_text())
}
