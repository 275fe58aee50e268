//! Joins consecutive rows with the same `item_group_id` into one product with variants.

use std::ops::ControlFlow;

use catalog::{FeedSettings, FieldError, ProductDraft, VariantDraft};

use super::row::{GoogleRow, RowData};
use crate::field_errors;
use crate::limits::{PRODUCT_BYTES_MAX, ROW_COST_BYTES};
use crate::sink::Sink;

/// Collects the rows of the open group.
pub(crate) struct ItemGroups<'s> {
    settings: &'s FeedSettings,
    open: Option<Group>,
}

struct Group {
    line: u64,
    bytes: usize,
    draft: ProductDraft,
}

impl<'s> ItemGroups<'s> {
    pub(crate) fn new(settings: &'s FeedSettings) -> Self {
        Self { settings, open: None }
    }

    /// Adds a row. Returns the error of a row that cannot be used.
    pub(crate) fn add(
        &mut self,
        row: &GoogleRow,
        sink: &mut Sink<'_>,
    ) -> ControlFlow<(), Result<(), FieldError>> {
        let data = match row.data(self.settings) {
            Ok(data) => data,
            Err(error) => return ControlFlow::Continue(Err(error)),
        };
        if let Some(warning) = data.warning.clone() {
            sink.warning(row.line, row.external_id(), warning)?;
        }
        let Some(group) = data.group.clone() else {
            self.close(sink)?;
            sink.product(row.line, standalone(data))?;
            return ControlFlow::Continue(Ok(()));
        };
        if data.draft.price.is_none() {
            let missing =
                field_errors::missing("price", "Every variant of a group requires a price.");
            return ControlFlow::Continue(Err(missing));
        }
        let fits = |open: &Group| {
            open.draft.external_id == group && open.bytes + row.bytes <= PRODUCT_BYTES_MAX
        };
        if !self.open.as_ref().is_some_and(fits) {
            self.close(sink)?;
        }
        match &mut self.open {
            None => self.open = Some(Group::start(row, group, data)),
            Some(open) if open.draft.currency != data.draft.currency => {
                return ControlFlow::Continue(Err(field_errors::mixed_currencies()));
            }
            Some(open) => open.add(row, data),
        }
        ControlFlow::Continue(Ok(()))
    }

    /// Emits the open group. Must not be called for a truncated file: the missing variants would look
    /// as if the store had removed them.
    pub(crate) fn close(&mut self, sink: &mut Sink<'_>) -> ControlFlow<()> {
        match self.open.take() {
            Some(group) => sink.product(group.line, group.draft),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Returns the product of a row without a group; its options become attributes.
fn standalone(data: RowData) -> ProductDraft {
    let mut draft = ProductDraft { external_id: data.id, ..data.draft };
    draft.attributes.extend(data.options);
    draft
}

impl Group {
    /// Starts a product; the first row provides the fields that variants share.
    fn start(row: &GoogleRow, external_id: String, data: RowData) -> Self {
        let product = ProductDraft {
            external_id,
            gtin: None,
            price: None,
            list_price: None,
            sale_price: None,
            sale_starts_at: None,
            sale_ends_at: None,
            stock_status: None,
            stock_quantity: None,
            ..data.draft.clone()
        };
        let mut group = Self { line: row.line, bytes: 0, draft: product };
        group.add(row, data);
        group
    }

    fn add(&mut self, row: &GoogleRow, data: RowData) {
        self.bytes += row.bytes + ROW_COST_BYTES;
        let draft = data.draft;
        self.draft.variants.push(VariantDraft {
            sku: data.id,
            name: draft.name.filter(|name| Some(name) != self.draft.name.as_ref()),
            gtin: draft.gtin,
            options: data.options,
            price: draft.price,
            list_price: draft.list_price,
            sale_price: draft.sale_price,
            sale_starts_at: draft.sale_starts_at,
            sale_ends_at: draft.sale_ends_at,
            stock_status: draft.stock_status,
            stock_quantity: draft.stock_quantity,
            image: draft.images.into_iter().next().map(|image| image.url),
        });
    }
}
