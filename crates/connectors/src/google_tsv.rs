//! Google Merchant, tab-separated.

use std::ops::ControlFlow;

use catalog::FeedSettings;

use crate::fault;
use crate::google::{Bag, Groups, field_name};
use crate::out::Out;
use crate::sheet::{Row, Sheet};
use crate::source::Source;

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    out: &mut Out<'_>,
) -> ControlFlow<()> {
    let mut sheet = match Sheet::open(source, b'\t', field_name, &["id"]) {
        Ok(sheet) => sheet,
        Err(fault) => return out.cut(1, fault),
    };
    let mut groups = Groups::new(settings);
    while let Some(row) = sheet.next(source) {
        if row.is_cut() {
            return out.cut(row.line(), fault::truncated());
        }
        let bag = bag(&row);
        let fault = match row.fault() {
            Some(fault) => Some(fault),
            None => groups.add(&bag, out)?.err(),
        };
        match fault {
            Some(_) if !row.is_ended() => return out.cut(row.line(), fault::truncated()),
            Some(fault) => out.broken(row.line(), bag.external_id(), fault)?,
            None => {}
        }
    }
    if source.has_failed() {
        return out.cut(source.line(), fault::truncated());
    }
    groups.close(out)
}

fn bag(row: &Row<'_>) -> Bag {
    let fields = row.cells().into_iter();
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    Bag { line: row.line(), bytes: row.bytes(), fields }
}
