//! Shopify's product export. A product is the rows of one handle: the first says what it is, each
//! with a price is a variant, and the others add pictures.

mod columns;
mod product;

use std::ops::ControlFlow;

use catalog::FeedSettings;

use crate::fault;
use crate::out::Out;
use crate::sheet::Sheet;
use crate::source::Source;
use columns::{Cells, column_name};
use product::Open;

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    out: &mut Out<'_>,
) -> ControlFlow<()> {
    let mut sheet = match Sheet::open(source, b',', column_name, &["handle"]) {
        Ok(sheet) => sheet,
        Err(fault) => return out.cut(1, fault),
    };
    let mut open: Option<Open> = None;
    while let Some(row) = sheet.next(source) {
        if row.is_cut() {
            return out.cut(row.line(), fault::truncated());
        }
        let cells = Cells::new(&row);
        let handle = cells.owned("handle");
        let fault = match (row.fault(), handle.clone()) {
            (Some(fault), _) => Some(fault),
            (None, None) => Some(fault::missing_id()),
            (None, Some(handle)) => {
                if !open.as_ref().is_some_and(|open| open.takes(&handle, &row)) {
                    close(&mut open, out)?;
                }
                let open = open.get_or_insert_with(|| Open::new(handle, &cells, row.line()));
                open.add(&cells, settings, row.bytes()).err()
            }
        };
        match fault {
            Some(_) if !row.is_ended() => return out.cut(row.line(), fault::truncated()),
            Some(fault) => out.broken(row.line(), handle, fault)?,
            None => {}
        }
    }
    if source.has_failed() {
        return out.cut(source.line(), fault::truncated());
    }
    close(&mut open, out)
}

fn close(open: &mut Option<Open>, out: &mut Out<'_>) -> ControlFlow<()> {
    let Some(open) = open.take() else { return ControlFlow::Continue(()) };
    let line = open.line;
    match open.finish() {
        Some(draft) => out.product(line, draft),
        None => ControlFlow::Continue(()),
    }
}
