//! What a Google Merchant row means, however it is written: XML and TSV fill the same bag of fields.

mod detail;
mod group;
mod row;

pub(crate) use detail::{escape as escape_detail, joined as joined_details};
pub(crate) use group::Groups;
pub(crate) use row::Bag;

/// Fields that set the rows of a group apart.
pub(crate) const OPTIONS: [&str; 6] =
    ["color", "size", "material", "pattern", "gender", "age_group"];

/// A field's name as it is compared: `g:Image Link` is `image_link`.
pub(crate) fn field_name(name: &str) -> String {
    let name = name.trim().to_lowercase().replace(' ', "_");
    name.strip_prefix("g:").unwrap_or(&name).to_owned()
}
