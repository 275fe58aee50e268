//! Products as their merchant would send them.

use catalog::{Amount, ImageDraft, ProductDraft, RatingDraft, VariantDraft};
use primitives::{Currency, Money};

use crate::seed::days_ago;
use crate::world::{Image, Product, Store, Variant};

/// The draft of a product: all that the world says about it. Pictures get the address of a shop,
/// since a feed cannot point into ours.
#[must_use]
pub fn draft(store: &Store, product: &Product) -> ProductDraft {
    let amount = |minor| amount(minor, product.currency);
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
        name: Some(product.name.to_owned()),
        description: Some(product.description.clone()),
        brand: Some(product.brand.to_owned()),
        gtin: product.gtin.clone(),
        category: category(store, &product.category),
        condition: Some(product.condition.to_owned()),
        price: Some(amount(product.price_minor)),
        currency: Some(product.currency.to_owned()),
        list_price: product.list_price_minor.map(amount),
        stock_status: Some(product.stock_status.to_owned()),
        stock_quantity: product.stock_quantity.map(i64::from),
        images: product.images.iter().map(|one| image(store, one)).collect(),
        attributes: product.attributes.iter().cloned().collect(),
        rating,
        variants: product.variants.iter().map(|one| variant(product, one)).collect(),
        listed_at: Some(days_ago(product.created_days_ago).to_string()),
        ..ProductDraft::default()
    }
}

fn variant(product: &Product, variant: &Variant) -> VariantDraft {
    VariantDraft {
        sku: variant.sku.clone(),
        name: Some(variant.name.clone()),
        gtin: variant.gtin.clone(),
        options: variant.options.iter().cloned().collect(),
        price: Some(amount(variant.price_minor, product.currency)),
        stock_status: Some(variant.stock_status.to_owned()),
        stock_quantity: variant.stock_quantity.map(i64::from),
        ..VariantDraft::default()
    }
}

/// The names along the path: `home-kitchen/coffee` is `["Home & Kitchen", "Coffee"]`.
fn category(store: &Store, path: &str) -> Vec<String> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let name = |end| store.categories.iter().find(|category| category.path == path[..end]);
    ends.filter_map(name).map(|category| category.name.to_owned()).collect()
}

fn image(store: &Store, image: &Image) -> ImageDraft {
    ImageDraft {
        url: format!("https://{}.example{}", store.slug, image.path),
        alt: Some(image.alt.clone()),
    }
}

/// The world's tests hold that every currency is known.
fn amount(minor: i64, currency: &str) -> Amount {
    let currency = currency.parse().unwrap_or(Currency::USD);
    Amount::new(Money::new(minor, currency).to_decimal_text())
}
