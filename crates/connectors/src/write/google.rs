//! The fields that Google Merchant represents: one row per variant, and six options.

use catalog::{ImageDraft, ProductDraft, VariantDraft};

use crate::google::OPTIONS;

pub(super) fn representable(draft: &ProductDraft) -> ProductDraft {
    let image = |image: &ImageDraft| ImageDraft { url: image.url.clone(), alt: None };
    let is_group = !draft.variants.is_empty();
    let own = !is_group;
    ProductDraft {
        sku: None,
        gtin: draft.gtin.clone().filter(|_| own),
        price: draft.price.clone().filter(|_| own),
        list_price: draft.list_price.clone().filter(|_| own && draft.price.is_some()),
        stock_status: draft.stock_status.as_deref().filter(|_| own).map(availability),
        stock_quantity: draft.stock_quantity.filter(|_| own),
        images: draft.images.iter().map(image).collect(),
        rating: None,
        reviews: Vec::new(),
        policies: None,
        listed_at: None,
        variants: draft
            .variants
            .iter()
            .map(|variant| representable_variant(draft, variant))
            .collect(),
        ..draft.clone()
    }
}

fn representable_variant(draft: &ProductDraft, variant: &VariantDraft) -> VariantDraft {
    let mut options = variant.options.clone();
    options.retain(|name, _| OPTIONS.contains(&name.as_str()));
    let main_image = || draft.images.first().map(|image| image.url.clone());
    VariantDraft {
        name: None,
        options,
        price: variant.price.clone().or_else(|| draft.price.clone()),
        stock_status: variant.stock_status.as_deref().map(availability),
        image: variant.image.clone().or_else(main_image),
        ..variant.clone()
    }
}

/// Maps the status to the four values of Google.
fn availability(status: &str) -> String {
    match status {
        "low_stock" => "in_stock".to_owned(),
        "discontinued" => "out_of_stock".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the non-empty fields of each row of a product, in a fixed order.
pub(super) fn rows(draft: &ProductDraft) -> Vec<Vec<(&'static str, String)>> {
    if draft.variants.is_empty() {
        return vec![row(draft, None)];
    }
    draft.variants.iter().map(|variant| row(draft, Some(variant))).collect()
}

fn row(draft: &ProductDraft, variant: Option<&VariantDraft>) -> Vec<(&'static str, String)> {
    let mut fields = Vec::new();
    let mut put = |name, value: Option<String>| fields.extend(value.map(|value| (name, value)));
    let id = variant.map_or(&draft.external_id, |variant| &variant.sku);
    put("id", Some(id.clone()));
    put("title", draft.name.clone());
    put("description", draft.description.clone());
    put("link", draft.url.clone());
    let main_image = draft.images.first().map(|image| image.url.clone());
    put("image_link", variant.map_or(main_image, |variant| variant.image.clone()));
    for image in draft.images.iter().skip(1) {
        put("additional_image_link", Some(image.url.clone()));
    }
    put("item_group_id", variant.map(|_| draft.external_id.clone()));
    put("brand", draft.brand.clone());
    put("mpn", draft.mpn.clone());
    put("condition", draft.condition.clone());
    put(
        "product_type",
        Some(super::category_path(&draft.category)).filter(|path| !path.is_empty()),
    );
    let (price, list, gtin, status, quantity) = match variant {
        Some(one) => {
            (&one.price, &one.list_price, &one.gtin, &one.stock_status, one.stock_quantity)
        }
        None => (
            &draft.price,
            &draft.list_price,
            &draft.gtin,
            &draft.stock_status,
            draft.stock_quantity,
        ),
    };
    let currency = draft.currency.as_deref().unwrap_or_default();
    let money = |amount: &catalog::Amount| format!("{} {currency}", amount.as_str());
    put("price", list.as_ref().or(price.as_ref()).map(money));
    put("sale_price", list.as_ref().and(price.as_ref()).map(money));
    put("gtin", gtin.clone());
    put("availability", status.clone());
    put("quantity", quantity.map(|quantity| quantity.to_string()));
    for name in OPTIONS {
        let options = variant.map_or(&draft.attributes, |variant| &variant.options);
        put(name, options.get(name).cloned());
    }
    fields
}

/// Returns the attributes that have no field of their own.
pub(super) fn details(draft: &ProductDraft) -> impl Iterator<Item = (&str, &str)> {
    let is_group = !draft.variants.is_empty();
    let all = draft.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    all.filter(move |(name, _)| is_group || !OPTIONS.contains(name))
}
