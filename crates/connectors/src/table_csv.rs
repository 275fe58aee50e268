//! Reads any table with a header row. The column of each field is named by the merchant, or has the name of the field.

use std::ops::ControlFlow;

use catalog::{FeedColumns, FeedSettings, FieldError, ImageDraft, ProductDraft};

use crate::amount;
use crate::delimited::DelimitedReader;
use crate::field_errors;
use crate::google::{split_urls, stock_status};
use crate::gtin::GtinCandidates;
use crate::sink::Sink;
use crate::source::Source;

/// Fields without which no row is a product.
const REQUIRED: [&str; 3] = ["external_id", "name", "price"];

/// Names that columns have if nobody states them, besides those of the fields.
const ALIASES: [(&str, &str); 14] = [
    ("id", "external_id"),
    ("title", "name"),
    ("ean", "gtin"),
    ("upc", "gtin"),
    ("barcode", "gtin"),
    ("link", "url"),
    ("vendor", "brand"),
    ("manufacturer", "brand"),
    ("product type", "category"),
    ("stock", "stock quantity"),
    ("quantity", "stock quantity"),
    ("availability", "stock status"),
    ("image link", "image"),
    ("image url", "image"),
];

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    let mut reader = match DelimitedReader::open(source, b',', column_name, None) {
        Ok(reader) => reader,
        Err(error) => return sink.truncated(1, error),
    };
    let columns = match Columns::find(reader.header(), settings.columns.as_ref()) {
        Ok(columns) => columns,
        Err(error) => return sink.truncated(1, error),
    };
    if let Some(warning) = columns.unused(reader.header()) {
        sink.warning(1, None, warning)?;
    }
    while let Some(row) = reader.next(source) {
        if row.is_truncated() {
            return sink.truncated(row.line(), source.truncation());
        }
        let cells = Cells { columns: &columns, cells: row.cells() };
        let external_id = cells.owned("external_id");
        let error = match row.error() {
            Some(error) => error,
            None if row.is_short() && cells.find("price").is_none() => {
                sink.skipped(row.line(), external_id, field_errors::short_row(), true)?;
                continue;
            }
            None => match cells.draft(settings) {
                Ok(draft) => {
                    sink.product(row.line(), draft)?;
                    continue;
                }
                Err(error) => error,
            },
        };
        if !row.is_terminated() {
            return sink.truncated(row.line(), source.truncation());
        }
        sink.invalid_row(row.line(), external_id, error)?;
    }
    if source.has_failed() {
        return sink.truncated(source.line(), source.truncation());
    }
    ControlFlow::Continue(())
}

/// Normalizes a column name: `Item_No ` becomes `item no`.
fn column_name(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', '-'], " ")
}

/// The normalized name of the column of each field.
struct Columns(Vec<(&'static str, String)>);

impl Columns {
    /// Finds the column of each field in a header.
    fn find(header: &[String], named: Option<&FeedColumns>) -> Result<Self, FieldError> {
        let mut columns = Vec::new();
        for field in FeedColumns::FIELDS {
            let stated = named.and_then(|named| named.iter().find(|(name, _)| *name == field));
            match (stated, named) {
                (Some((_, column)), _) => {
                    let normalized = column_name(column);
                    if !header.contains(&normalized) {
                        return Err(field_errors::missing_named_column(field, column, header));
                    }
                    columns.push((field, normalized));
                }
                (None, Some(_)) => {}
                (None, None) => {
                    let own = column_name(field);
                    let aliases = ALIASES.iter().filter(|(_, of)| column_name(of) == own);
                    let mut candidates =
                        std::iter::once(own.as_str()).chain(aliases.map(|(name, _)| *name));
                    if let Some(name) =
                        candidates.find(|name| header.iter().any(|column| column == name))
                    {
                        columns.push((field, name.to_owned()));
                    }
                }
            }
        }
        let columns = Self(columns);
        match REQUIRED.iter().find(|field| columns.column(field).is_none()) {
            Some(field) => Err(field_errors::missing_column(field, header)),
            None => Ok(columns),
        }
    }

    fn column(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == field).map(|(_, column)| column.as_str())
    }

    /// Returns the warning of columns that are not used.
    fn unused(&self, header: &[String]) -> Option<FieldError> {
        let is_used = |column: &String| self.0.iter().any(|(_, used)| used == column);
        let unused: Vec<&str> = header
            .iter()
            .filter(|column| !column.is_empty() && !is_used(column))
            .map(String::as_str)
            .collect();
        (!unused.is_empty()).then(|| field_errors::unused_columns(&unused))
    }
}

/// The cells of a row, by field.
struct Cells<'r> {
    columns: &'r Columns,
    cells: Vec<(&'r str, &'r str)>,
}

impl<'r> Cells<'r> {
    fn find(&self, field: &str) -> Option<&'r str> {
        let column = self.columns.column(field)?;
        self.cells.iter().find(|(name, _)| *name == column).map(|(_, value)| *value)
    }

    fn owned(&self, field: &str) -> Option<String> {
        self.find(field).map(str::to_owned)
    }

    fn draft(&self, settings: &FeedSettings) -> Result<ProductDraft, FieldError> {
        let read = |column: &str, field: &'static str| {
            let text = self.find(column);
            text.map(|text| amount::read(text, settings.currency, field)).transpose()
        };
        let price = read("price", "price")?;
        let (list_price, sale_price) =
            (read("list_price", "list_price")?, read("sale_price", "sale_price")?);
        let currency = price.as_ref().and_then(|price| price.currency);
        let further = [&list_price, &sale_price].into_iter().flatten();
        if further.filter_map(|price| price.currency).any(|other| Some(other) != currency) {
            return Err(field_errors::mixed_currencies());
        }
        let currency = currency.map(|currency| currency.code().to_owned());
        let quantity = self.find("stock_quantity").map(field_errors::stock_quantity).transpose()?;
        let candidates = GtinCandidates {
            gtin: self.find("gtin"),
            sku: self.find("sku"),
            mpn: self.find("mpn"),
            id: self.find("external_id"),
        };
        let category = self.find("category").unwrap_or_default().split('>').map(str::trim);
        let images = self.find("image").map(split_urls).unwrap_or_default();
        Ok(ProductDraft {
            external_id: self.owned("external_id").ok_or_else(field_errors::missing_id)?,
            sku: self.owned("sku"),
            name: self.owned("name"),
            description: self.owned("description"),
            brand: self.owned("brand"),
            gtin: candidates.find(&settings.gtin_source, self.cells.iter().copied()),
            mpn: self.owned("mpn"),
            url: self.owned("url"),
            category: category.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            condition: self.find("condition").map(str::to_lowercase),
            price: price.map(|price| price.amount),
            currency: self.owned("currency").or(currency),
            list_price: list_price.map(|price| price.amount),
            sale_price: sale_price.map(|price| price.amount),
            sale_starts_at: self.owned("sale_starts_at"),
            sale_ends_at: self.owned("sale_ends_at"),
            stock_status: self.find("stock_status").map(stock_status),
            stock_quantity: quantity.map(|quantity| quantity.max(0)),
            images: images
                .into_iter()
                .map(|url| ImageDraft { url: url.to_owned(), alt: None })
                .collect(),
            listed_at: self.owned("listed_at"),
            ..ProductDraft::default()
        })
    }
}
