//! Normalizes column names of the older and the newer export.

use crate::delimited::Row;

/// Known column names and their normalized names.
const NAMES: [(&str, &str); 25] = [
    ("url handle", "handle"),
    ("body (html)", "description"),
    ("product category", "category"),
    ("published on online store", "published"),
    ("variant sku", "sku"),
    ("variant barcode", "barcode"),
    ("variant price", "price"),
    ("variant compare at price", "compare at price"),
    ("variant inventory tracker", "inventory tracker"),
    ("variant inventory qty", "inventory"),
    ("inventory quantity", "inventory"),
    ("variant inventory policy", "inventory policy"),
    ("continue selling when out of stock", "inventory policy"),
    ("image src", "image"),
    ("product image url", "image"),
    ("image alt text", "image alt"),
    ("variant image", "variant image"),
    ("variant image url", "variant image"),
    ("option1 name", "option1 name"),
    ("option1 value", "option1 value"),
    ("option2 name", "option2 name"),
    ("option2 value", "option2 value"),
    ("option3 name", "option3 name"),
    ("option3 value", "option3 value"),
    ("compare at price", "compare at price"),
];

/// Normalizes a column name: `Compare-at price` becomes `compare at price`.
pub(super) fn column_name(name: &str) -> String {
    let name = name.trim().to_lowercase().replace(['_', '-'], " ");
    let known = NAMES.iter().find(|(known, _)| *known == name);
    known.map_or(name, |(_, normalized)| (*normalized).to_owned())
}

/// The non-empty cells of a row, by column.
pub(super) struct Cells<'r> {
    cells: Vec<(&'r str, &'r str)>,
    has_tracker: bool,
}

impl<'r> Cells<'r> {
    pub(super) fn new(row: &Row<'r>) -> Self {
        Self { cells: row.cells(), has_tracker: row.has_column("inventory tracker") }
    }

    pub(super) fn find(&self, column: &str) -> Option<&'r str> {
        self.cells.iter().find(|(name, _)| *name == column).map(|(_, value)| *value)
    }

    pub(super) fn owned(&self, column: &str) -> Option<String> {
        self.find(column).map(str::to_owned)
    }

    /// Returns a number without the apostrophe that protects it from spreadsheets.
    pub(super) fn number(&self, column: &str) -> Option<&'r str> {
        self.find(column).map(|text| text.trim_start_matches('\'')).filter(|text| !text.is_empty())
    }

    pub(super) fn pairs(&self) -> impl Iterator<Item = (&'r str, &'r str)> {
        self.cells.iter().copied()
    }

    /// Whether the store does not track the inventory; the variant is then always in stock.
    pub(super) fn is_untracked(&self) -> bool {
        self.has_tracker && self.find("inventory tracker").is_none()
    }

    /// Whether the product is for sale: neither a draft, nor archived, nor unpublished.
    pub(super) fn is_for_sale(&self) -> bool {
        let is = |column, value: &str| {
            self.find(column).is_some_and(|found| found.eq_ignore_ascii_case(value))
        };
        !is("status", "draft") && !is("status", "archived") && !is("published", "false")
    }
}
