//! Rows of one `item_group_id` that follow each other are one product with variants.

use std::ops::ControlFlow;

use catalog::{Fault, FeedSettings, ProductDraft, VariantDraft};

use super::row::{Bag, Facts};
use crate::fault;
use crate::limit::{PRODUCT_BYTES_MAX, ROW_COST_BYTES};
use crate::out::Out;

pub(crate) struct Groups<'s> {
    settings: &'s FeedSettings,
    open: Option<Group>,
}

struct Group {
    line: u64,
    bytes: usize,
    draft: ProductDraft,
}

impl<'s> Groups<'s> {
    pub(crate) fn new(settings: &'s FeedSettings) -> Self {
        Self { settings, open: None }
    }

    /// Takes a row. One that cannot be used comes back with what is wrong.
    pub(crate) fn add(
        &mut self,
        bag: &Bag,
        out: &mut Out<'_>,
    ) -> ControlFlow<(), Result<(), Fault>> {
        let facts = match bag.facts(self.settings) {
            Ok(facts) => facts,
            Err(fault) => return ControlFlow::Continue(Err(fault)),
        };
        let Some(group) = facts.group.clone() else {
            self.close(out)?;
            out.product(bag.line, alone(facts))?;
            return ControlFlow::Continue(Ok(()));
        };
        if facts.draft.price.is_none() {
            let missing = fault::missing("price", "Every variant of a group needs a price.");
            return ControlFlow::Continue(Err(missing));
        }
        let fits = |open: &Group| {
            open.draft.external_id == group && open.bytes + bag.bytes <= PRODUCT_BYTES_MAX
        };
        if !self.open.as_ref().is_some_and(fits) {
            self.close(out)?;
        }
        match &mut self.open {
            None => self.open = Some(Group::begin(bag, group, facts)),
            Some(open) if open.draft.currency != facts.draft.currency => {
                return ControlFlow::Continue(Err(fault::two_currencies()));
            }
            Some(open) => open.add(bag, facts),
        }
        ControlFlow::Continue(Ok(()))
    }

    /// Hands over the group that is open. Not to be called where the file is cut: the rows that are
    /// missing would look as if the shop had given them up.
    pub(crate) fn close(&mut self, out: &mut Out<'_>) -> ControlFlow<()> {
        match self.open.take() {
            Some(group) => out.product(group.line, group.draft),
            None => ControlFlow::Continue(()),
        }
    }
}

/// A row without a group: what would be options are attributes.
fn alone(facts: Facts) -> ProductDraft {
    let mut draft = ProductDraft { external_id: facts.id, ..facts.draft };
    draft.attributes.extend(facts.options);
    draft
}

impl Group {
    /// The first row speaks for the product.
    fn begin(bag: &Bag, external_id: String, facts: Facts) -> Self {
        let product = ProductDraft {
            external_id,
            gtin: None,
            price: None,
            list_price: None,
            stock_status: None,
            stock_quantity: None,
            ..facts.draft.clone()
        };
        let mut group = Self { line: bag.line, bytes: 0, draft: product };
        group.add(bag, facts);
        group
    }

    fn add(&mut self, bag: &Bag, facts: Facts) {
        self.bytes += bag.bytes + ROW_COST_BYTES;
        let row = facts.draft;
        self.draft.variants.push(VariantDraft {
            sku: facts.id,
            name: row.name.filter(|name| Some(name) != self.draft.name.as_ref()),
            gtin: row.gtin,
            options: facts.options,
            price: row.price,
            list_price: row.list_price,
            stock_status: row.stock_status,
            stock_quantity: row.stock_quantity,
            image: row.images.into_iter().next().map(|image| image.url),
        });
    }
}
