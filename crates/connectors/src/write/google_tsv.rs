//! Writes Google Merchant feeds as tab-separated text.

use catalog::ProductDraft;

use super::google;
use crate::google::join_details;

const COLUMNS: [&str; 23] = [
    "id",
    "title",
    "description",
    "link",
    "image_link",
    "additional_image_link",
    "item_group_id",
    "brand",
    "mpn",
    "condition",
    "product_type",
    "price",
    "sale_price",
    "gtin",
    "availability",
    "quantity",
    "color",
    "size",
    "material",
    "pattern",
    "gender",
    "age_group",
    "product_detail",
];

pub(super) fn write(drafts: &[ProductDraft]) -> Vec<u8> {
    let header = COLUMNS.iter().map(|column| (*column).to_owned()).collect();
    let rows = drafts.iter().flat_map(rows);
    super::delimited(b'\t', std::iter::once(header).chain(rows))
}

fn rows(draft: &ProductDraft) -> Vec<Vec<String>> {
    let details = join_details(google::details(draft));
    let cell = |row: &[(&str, String)], column: &str| {
        let values = row.iter().filter(|(name, _)| *name == column);
        values.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(",")
    };
    let cells = |row: Vec<(&'static str, String)>| {
        let cells = COLUMNS.iter().map(|column| match *column {
            "product_detail" => details.clone(),
            column => cell(&row, column),
        });
        cells.collect()
    };
    google::rows(draft).into_iter().map(cells).collect()
}
