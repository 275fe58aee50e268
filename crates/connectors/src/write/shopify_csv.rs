//! Writes Shopify's product export, with the column names of the older export.

use std::collections::BTreeSet;

use catalog::{ProductDraft, VariantDraft};

const COLUMNS: [&str; 21] = [
    "Handle",
    "Title",
    "Body (HTML)",
    "Vendor",
    "Product Category",
    "Option1 Name",
    "Option1 Value",
    "Option2 Name",
    "Option2 Value",
    "Option3 Name",
    "Option3 Value",
    "Variant SKU",
    "Variant Inventory Tracker",
    "Variant Inventory Qty",
    "Variant Inventory Policy",
    "Variant Price",
    "Variant Compare At Price",
    "Variant Barcode",
    "Image Src",
    "Image Alt Text",
    "Variant Image",
];

/// The option of a product without options.
const DEFAULT_OPTION: (&str, &str) = ("Title", "Default Title");

pub(super) fn representable(draft: &ProductDraft) -> ProductDraft {
    let names = option_names(draft);
    let has_no_variants = draft.variants.is_empty();
    let (status, quantity) = stock(draft.stock_status.as_deref(), draft.stock_quantity);
    let sku = draft.sku.clone().filter(|sku| *sku != draft.external_id);
    ProductDraft {
        external_id: draft.external_id.clone(),
        sku: sku.filter(|_| has_no_variants),
        name: draft.name.clone(),
        description: draft.description.clone(),
        brand: draft.brand.clone(),
        gtin: draft.gtin.clone().filter(|_| has_no_variants),
        category: draft.category.clone(),
        price: draft.price.clone().filter(|_| has_no_variants),
        list_price: draft.list_price.clone().filter(|_| has_no_variants),
        stock_status: status.filter(|_| has_no_variants),
        stock_quantity: quantity.filter(|_| has_no_variants),
        images: draft.images.clone(),
        variants: draft
            .variants
            .iter()
            .map(|one| representable_variant(draft, one, &names))
            .collect(),
        ..ProductDraft::default()
    }
}

/// Returns at most three option names; variants without options get one that distinguishes them.
fn option_names(draft: &ProductDraft) -> Vec<String> {
    let names = draft.variants.iter().flat_map(|variant| variant.options.keys());
    let names: BTreeSet<&String> = names.collect();
    if names.is_empty() && !draft.variants.is_empty() {
        return vec!["Variant".to_owned()];
    }
    names.into_iter().take(3).cloned().collect()
}

fn representable_variant(
    draft: &ProductDraft,
    variant: &VariantDraft,
    names: &[String],
) -> VariantDraft {
    let mut options = variant.options.clone();
    options.retain(|name, _| names.contains(name));
    if let [name] = names
        && options.is_empty()
    {
        options.insert(name.clone(), variant.name.clone().unwrap_or(variant.sku.clone()));
    }
    let (stock_status, stock_quantity) =
        stock(variant.stock_status.as_deref(), variant.stock_quantity);
    VariantDraft {
        name: None,
        options,
        price: variant.price.clone().or_else(|| draft.price.clone()),
        stock_status,
        stock_quantity,
        ..variant.clone()
    }
}

/// Maps the stock: a tracked inventory is its quantity, which is unknown if the cell is empty, and an untracked inventory is
/// always in stock.
fn stock(status: Option<&str>, quantity: Option<i64>) -> (Option<String>, Option<i64>) {
    match (status, quantity) {
        (Some("backorder" | "preorder"), None | Some(..=0)) => {
            (Some("backorder".to_owned()), Some(0))
        }
        (Some("out_of_stock" | "discontinued"), _) => (None, Some(0)),
        (_, Some(quantity)) => (None, Some(quantity.max(0))),
        (Some("in_stock" | "low_stock"), None) => (Some("in_stock".to_owned()), None),
        (_, None) => (None, None),
    }
}

pub(super) fn write(drafts: &[ProductDraft]) -> Vec<u8> {
    let header = COLUMNS.iter().map(|column| (*column).to_owned()).collect();
    super::delimited(b',', std::iter::once(header).chain(drafts.iter().flat_map(rows)))
}

/// Returns one row per variant or image, whichever are more.
fn rows(draft: &ProductDraft) -> Vec<Vec<String>> {
    let names = option_names(draft);
    let only = [only_variant(draft)];
    let variants = if draft.variants.is_empty() { &only[..] } else { &draft.variants[..] };
    let count = variants.len().max(draft.images.len());
    (0..count).map(|index| row(draft, &names, variants, index)).collect()
}

fn row(
    draft: &ProductDraft,
    names: &[String],
    variants: &[VariantDraft],
    index: usize,
) -> Vec<String> {
    let is_first = index == 0;
    let first = |text: Option<&str>| text.filter(|_| is_first).unwrap_or_default().to_owned();
    let path = super::category_path(&draft.category);
    let mut cells = vec![
        draft.external_id.clone(),
        first(draft.name.as_deref()),
        first(draft.description.as_deref()),
        first(draft.brand.as_deref()),
        first(Some(&path)),
    ];
    let variant = variants.get(index);
    for index in 0..3 {
        let name = names.get(index).map(String::as_str);
        let value = variant.and_then(|one| one.options.get(name?)).map(String::as_str);
        let is_default = names.is_empty() && index == 0;
        let (name, value) = if is_default {
            (Some(DEFAULT_OPTION.0), variant.map(|_| DEFAULT_OPTION.1))
        } else {
            (name, value)
        };
        cells.push(first(name));
        cells.push(value.unwrap_or_default().to_owned());
    }
    cells.extend(variant_cells(variant));
    let image = draft.images.get(index);
    cells.push(image.map(|image| image.url.clone()).unwrap_or_default());
    cells.push(image.and_then(|image| image.alt.clone()).unwrap_or_default());
    cells.push(variant.and_then(|variant| variant.image.clone()).unwrap_or_default());
    cells
}

fn variant_cells(variant: Option<&VariantDraft>) -> [String; 7] {
    let Some(one) = variant else { return Default::default() };
    let continues_selling = one.stock_status.as_deref() == Some("backorder");
    let is_untracked = one.stock_quantity.is_none() && one.stock_status.is_some();
    let amount = |amount: &Option<catalog::Amount>| {
        amount.as_ref().map(|amount| amount.as_str().to_owned()).unwrap_or_default()
    };
    [
        one.sku.clone(),
        if is_untracked { "" } else { "shopify" }.to_owned(),
        one.stock_quantity.map(|quantity| quantity.to_string()).unwrap_or_default(),
        if continues_selling { "continue" } else { "deny" }.to_owned(),
        amount(&one.price),
        amount(&one.list_price),
        one.gtin.clone().unwrap_or_default(),
    ]
}

/// Returns the variant that represents a product without variants.
fn only_variant(draft: &ProductDraft) -> VariantDraft {
    VariantDraft {
        sku: draft.sku.clone().unwrap_or_default(),
        gtin: draft.gtin.clone(),
        price: draft.price.clone(),
        list_price: draft.list_price.clone(),
        stock_status: draft.stock_status.clone(),
        stock_quantity: draft.stock_quantity,
        ..VariantDraft::default()
    }
}
