//! Interprets Google Merchant rows. XML and TSV produce the same row of fields.

mod detail;
mod item_groups;
mod row;
mod sale_period;

pub(crate) use detail::{escape as escape_detail, join as join_details};
pub(crate) use item_groups::ItemGroups;
pub(crate) use row::{GoogleRow, split_urls, stock_status};

/// Fields that distinguish the variants of a group.
pub(crate) const OPTIONS: [&str; 6] =
    ["color", "size", "material", "pattern", "gender", "age_group"];

/// Normalizes a field name: `g:Image Link` becomes `image_link`.
pub(crate) fn field_name(name: &str) -> String {
    let name = name.trim().to_lowercase().replace(' ', "_");
    name.strip_prefix("g:").unwrap_or(&name).to_owned()
}
