//! Builds a product from its rows.

use std::collections::BTreeMap;

use catalog::{Amount, FeedSettings, FieldError, ImageDraft, ProductDraft, VariantDraft};

use super::columns::Cells;
use crate::amount;
use crate::delimited::Row;
use crate::field_errors;
use crate::gtin::GtinCandidates;
use crate::limits::{PRODUCT_BYTES_MAX, ROW_COST_BYTES};

/// The product of the current handle.
pub(super) struct ProductBuilder {
    pub(super) line: u64,
    bytes: usize,
    is_for_sale: bool,
    /// A variant was rejected.
    has_rejected: bool,
    option_names: [Option<String>; 3],
    draft: ProductDraft,
}

impl ProductBuilder {
    /// Starts a product; the first row provides the product fields.
    pub(super) fn new(handle: String, cells: &Cells<'_>, line: u64) -> Self {
        let category = cells.find("category").or_else(|| cells.find("type")).unwrap_or_default();
        let category = category.split('>').map(str::trim).filter(|name| !name.is_empty());
        let draft = ProductDraft {
            external_id: handle,
            name: cells.owned("title"),
            description: cells.owned("description"),
            brand: cells.owned("vendor"),
            category: category.map(str::to_owned).collect(),
            ..ProductDraft::default()
        };
        let option_names = ["option1 name", "option2 name", "option3 name"];
        let option_names = option_names.map(|column| cells.owned(column));
        let is_for_sale = cells.is_for_sale();
        Self { line, bytes: 0, is_for_sale, has_rejected: false, option_names, draft }
    }

    pub(super) fn external_id(&self) -> &str {
        &self.draft.external_id
    }

    /// Whether a row belongs to this product, within the size limit.
    pub(super) fn accepts(&self, handle: &str, row: &Row<'_>) -> bool {
        self.draft.external_id == handle && self.bytes + row.bytes() <= PRODUCT_BYTES_MAX
    }

    /// Adds a row. A row with an invalid variant still adds its image.
    pub(super) fn add(
        &mut self,
        cells: &Cells<'_>,
        settings: &FeedSettings,
        bytes: usize,
    ) -> Result<(), FieldError> {
        self.bytes += bytes + ROW_COST_BYTES;
        if !self.is_for_sale {
            return Ok(());
        }
        if let Some(url) = cells.owned("image") {
            let is_known = self.draft.images.iter().any(|image| image.url == url);
            if !is_known {
                self.draft.images.push(ImageDraft { url, alt: cells.owned("image alt") });
            }
        }
        let variant_columns = ["price", "sku", "option1 value"];
        if variant_columns.iter().any(|column| cells.find(column).is_some()) {
            let variant = self.variant(cells, settings);
            self.has_rejected |= variant.is_err();
            self.draft.variants.push(variant?);
        }
        Ok(())
    }

    fn variant(
        &self,
        cells: &Cells<'_>,
        settings: &FeedSettings,
    ) -> Result<VariantDraft, FieldError> {
        let options = self.options(cells);
        let sku = cells.number("sku");
        let candidates = GtinCandidates {
            gtin: cells.number("barcode"),
            sku,
            mpn: cells.find("google shopping / mpn"),
            id: cells.find("handle"),
        };
        let (stock_status, stock_quantity) = stock(cells)?;
        Ok(VariantDraft {
            sku: sku.map_or_else(|| self.generated_sku(&options), str::to_owned),
            name: None,
            gtin: candidates.find(&settings.gtin_source, cells.pairs()),
            options,
            sale_price: None,
            sale_starts_at: None,
            sale_ends_at: None,
            price: price(cells, "price", settings)?,
            list_price: price(cells, "compare at price", settings)?.filter(is_nonzero),
            stock_status,
            stock_quantity,
            image: cells.owned("variant image"),
        })
    }

    /// Returns the option values of this row, by the option names of the first row.
    fn options(&self, cells: &Cells<'_>) -> BTreeMap<String, String> {
        let values = ["option1 value", "option2 value", "option3 value"];
        let pairs = self.option_names.iter().zip(values);
        pairs.filter_map(|(name, column)| Some((name.clone()?, cells.owned(column)?))).collect()
    }

    /// Generates the SKU of a variant without one from the handle and the options.
    fn generated_sku(&self, options: &BTreeMap<String, String>) -> String {
        let values = options.values().map(|value| value.to_lowercase().replace(' ', "-"));
        let parts = std::iter::once(self.draft.external_id.clone()).chain(values);
        parts.collect::<Vec<_>>().join("-")
    }

    /// Returns the product, or why it is none.
    pub(super) fn finish(self) -> Finished {
        match self {
            Self { is_for_sale: false, .. } => Finished::NotForSale,
            Self { has_rejected: true, ref draft, .. } if draft.variants.is_empty() => {
                Finished::Rejected
            }
            Self { ref draft, .. } if draft.variants.is_empty() => Finished::Incomplete,
            _ => Finished::Product(Box::new(self.into_draft())),
        }
    }

    fn into_draft(mut self) -> ProductDraft {
        let options = &self.draft.variants[0].options;
        let is_default = options.values().all(|value| value == "Default Title");
        if self.draft.variants.len() == 1
            && is_default
            && let Some(only) = self.draft.variants.pop()
        {
            let generated = format!("{}-default-title", self.draft.external_id);
            let is_own = only.sku != generated && only.sku != self.draft.external_id;
            self.draft.sku = Some(only.sku).filter(|_| is_own);
            self.draft.gtin = only.gtin;
            self.draft.price = only.price;
            self.draft.list_price = only.list_price;
            self.draft.stock_status = only.stock_status;
            self.draft.stock_quantity = only.stock_quantity;
        }
        self.draft
    }
}

/// The result of the rows of a product.
pub(super) enum Finished {
    Product(Box<ProductDraft>),
    /// A draft, archived or unpublished.
    NotForSale,
    /// No row is a variant.
    Incomplete,
    /// All variants were rejected, each with an error.
    Rejected,
}

fn price(
    cells: &Cells<'_>,
    column: &str,
    settings: &FeedSettings,
) -> Result<Option<Amount>, FieldError> {
    let field = if column == "price" { "price" } else { "list_price" };
    let text = cells.number(column);
    let price = text.map(|text| amount::read(text, settings.currency, field)).transpose()?;
    match price {
        // The format has no currency column, so amounts must be in the currency of the store.
        Some(price) if price.currency.is_some_and(|named| named != settings.currency) => {
            Err(field_errors::mixed_currencies())
        }
        price => Ok(price.map(|price| price.amount)),
    }
}

/// Exports contain 0.00 if there is no compare-at price.
fn is_nonzero(amount: &Amount) -> bool {
    amount.as_str().bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

type Stock = (Option<String>, Option<i64>);

/// A sold-out variant that the store continues to sell is on backorder; a negative quantity counts as 0. The stock of a
/// tracked variant without a quantity is unknown.
fn stock(cells: &Cells<'_>) -> Result<Stock, FieldError> {
    let quantity = cells.number("inventory").map(field_errors::stock_quantity).transpose()?;
    let continues_selling = cells.find("inventory policy").is_some_and(|policy| {
        ["continue", "true", "yes"].iter().any(|yes| policy.eq_ignore_ascii_case(yes))
    });
    Ok(match quantity {
        _ if cells.is_untracked() => (Some("in_stock".to_owned()), None),
        Some(quantity) if quantity <= 0 && continues_selling => {
            (Some("backorder".to_owned()), Some(0))
        }
        quantity => (None, quantity.map(|quantity| quantity.max(0))),
    })
}
