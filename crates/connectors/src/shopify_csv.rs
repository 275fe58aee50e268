//! Reads Shopify's product export. A product is the consecutive rows of one handle: the first has the
//! product fields, each row with a price is a variant, and the others add images.

mod columns;
mod product_builder;

use std::ops::ControlFlow;

use catalog::FeedSettings;

use crate::delimited::DelimitedReader;
use crate::field_errors;
use crate::sink::Sink;
use crate::source::Source;
use columns::{Cells, column_name};
use product_builder::{Finished, ProductBuilder};

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    let mut reader = match DelimitedReader::open(source, b',', column_name, Some("handle")) {
        Ok(reader) => reader,
        Err(error) => return sink.truncated(1, error),
    };
    let mut open: Option<ProductBuilder> = None;
    while let Some(row) = reader.next(source) {
        if row.is_truncated() {
            return sink.truncated(row.line(), source.truncation());
        }
        let cells = Cells::new(&row);
        let handle = cells.owned("handle");
        let error = match (row.error(), handle.clone()) {
            (Some(error), _) => Some(error),
            (None, None) => Some(field_errors::missing_id()),
            (None, Some(handle)) => {
                if !open.as_ref().is_some_and(|open| open.accepts(&handle, &row)) {
                    close(&mut open, sink)?;
                }
                let open =
                    open.get_or_insert_with(|| ProductBuilder::new(handle, &cells, row.line()));
                open.add(&cells, settings, row.bytes()).err()
            }
        };
        match error {
            Some(_) if !row.is_terminated() => {
                return sink.truncated(row.line(), source.truncation());
            }
            Some(error) => sink.invalid_row(row.line(), handle, error)?,
            None => {}
        }
    }
    if source.has_failed() {
        return sink.truncated(source.line(), source.truncation());
    }
    close(&mut open, sink)
}

fn close(open: &mut Option<ProductBuilder>, sink: &mut Sink<'_>) -> ControlFlow<()> {
    let Some(open) = open.take() else { return ControlFlow::Continue(()) };
    let line = open.line;
    let id = open.external_id().to_owned();
    match open.finish() {
        Finished::Product(draft) => sink.product(line, *draft),
        Finished::NotForSale => sink.skipped(line, Some(id), field_errors::not_for_sale(), false),
        Finished::Incomplete => sink.skipped(line, Some(id), field_errors::no_variant(), true),
        Finished::Rejected => ControlFlow::Continue(()),
    }
}
