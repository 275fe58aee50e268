//! Reads Google Merchant feeds as tab-separated text.

use std::ops::ControlFlow;

use catalog::FeedSettings;

use crate::delimited::{DelimitedReader, Row};
use crate::field_errors;
use crate::google::{GoogleRow, ItemGroups, field_name};
use crate::sink::Sink;
use crate::source::Source;

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    let mut reader = match DelimitedReader::open(source, b'\t', field_name, Some("id")) {
        Ok(reader) => reader,
        Err(error) => return sink.truncated(1, error),
    };
    let mut groups = ItemGroups::new(settings);
    while let Some(row) = reader.next(source) {
        if row.is_truncated() {
            return sink.truncated(row.line(), source.truncation());
        }
        let fields = google_row(&row);
        let error = match row.error() {
            Some(error) => Some(error),
            None if row.is_short() && row.is_terminated() && fields.first("price").is_none() => {
                let error = field_errors::short_row();
                sink.skipped(row.line(), fields.external_id(), error, true)?;
                continue;
            }
            None => groups.add(&fields, sink)?.err(),
        };
        match error {
            Some(_) if !row.is_terminated() => {
                return sink.truncated(row.line(), source.truncation());
            }
            Some(error) => sink.invalid_row(row.line(), fields.external_id(), error)?,
            None => {}
        }
    }
    if source.has_failed() {
        return sink.truncated(source.line(), source.truncation());
    }
    groups.close(sink)
}

fn google_row(row: &Row<'_>) -> GoogleRow {
    let fields = row.cells().into_iter();
    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    GoogleRow { line: row.line(), bytes: row.bytes(), fields }
}
