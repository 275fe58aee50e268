//! Writes a table whose columns have the names of the fields.

use catalog::{Amount, FeedColumns, ImageDraft, ProductDraft};

pub(super) fn representable(draft: &ProductDraft) -> ProductDraft {
    let image = |image: &ImageDraft| ImageDraft { url: image.url.clone(), alt: None };
    ProductDraft {
        images: draft.images.iter().take(1).map(image).collect(),
        attributes: std::collections::BTreeMap::new(),
        rating: None,
        reviews: Vec::new(),
        policies: None,
        ..draft.clone()
    }
}

pub(super) fn write(drafts: &[ProductDraft]) -> Vec<u8> {
    let header = FeedColumns::FIELDS.iter().map(|field| (*field).to_owned()).collect();
    super::delimited(b',', std::iter::once(header).chain(drafts.iter().map(row)))
}

fn row(draft: &ProductDraft) -> Vec<String> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let amount = |amount: &Option<Amount>| {
        amount.as_ref().map(|amount| amount.as_str().to_owned()).unwrap_or_default()
    };
    let cell = |field: &&str| match *field {
        "external_id" => draft.external_id.clone(),
        "sku" => text(&draft.sku),
        "name" => text(&draft.name),
        "description" => text(&draft.description),
        "brand" => text(&draft.brand),
        "gtin" => text(&draft.gtin),
        "mpn" => text(&draft.mpn),
        "url" => text(&draft.url),
        "category" => super::category_path(&draft.category),
        "condition" => text(&draft.condition),
        "price" => amount(&draft.price),
        "currency" => text(&draft.currency),
        "list_price" => amount(&draft.list_price),
        "stock_status" => text(&draft.stock_status),
        "stock_quantity" => draft.stock_quantity.map(|it| it.to_string()).unwrap_or_default(),
        "image" => draft.images.first().map(|image| image.url.clone()).unwrap_or_default(),
        "listed_at" => text(&draft.listed_at),
        _ => String::new(),
    };
    FeedColumns::FIELDS.iter().map(cell).collect()
}
