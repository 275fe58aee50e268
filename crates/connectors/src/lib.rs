#![doc = include_str!("../README.md")]

mod acp_json;
mod amount;
mod delimited;
mod detect;
mod field_errors;
mod google;
mod google_tsv;
mod google_xml;
mod gtin;
mod input;
mod json;
mod json_elements;
mod kind;
mod limits;
mod line;
mod ndjson;
mod shopify_csv;
mod sink;
mod source;
mod table_csv;
pub mod write;
mod xml_items;

use std::io::BufRead;
use std::ops::ControlFlow;
use std::rc::Rc;

use catalog::{FeedFormat, FeedItem, FeedSettings, ReadFeed};

pub use detect::detect;

use sink::Sink;
use source::Source;

/// The catalog takes a reader of this type.
const _: ReadFeed = read_feed;

/// Reads a feed and passes each item to `emit`, until `emit` returns `Break`.
pub fn read_feed(
    format: FeedFormat,
    input: &mut dyn BufRead,
    settings: &FeedSettings,
    emit: &mut dyn FnMut(FeedItem) -> ControlFlow<()>,
) {
    let (input, findings) = input::open(format, input);
    let mut source = Source::new(input, Rc::clone(&findings));
    let mut sink = Sink::new(emit, findings);
    // The flow of control has no meaning beyond this point.
    if read(format, &mut source, settings, &mut sink).is_continue() {
        let _ = sink.report_encoding();
    }
}

fn read(
    format: FeedFormat,
    source: &mut Source<'_>,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    if source.peek().is_none() {
        let error =
            if source.has_failed() { source.truncation() } else { field_errors::empty_file() };
        return sink.truncated(1, error);
    }
    if let Some(error) = kind::unsupported(format, source.rest()) {
        return sink.truncated(1, error);
    }
    match format {
        FeedFormat::Ndjson => ndjson::read(source, sink),
        FeedFormat::GoogleXml => google_xml::read(source, settings, sink),
        FeedFormat::GoogleTsv => google_tsv::read(source, settings, sink),
        FeedFormat::ShopifyCsv => shopify_csv::read(source, settings, sink),
        FeedFormat::AcpJson => acp_json::read(source, settings, sink),
        FeedFormat::Csv => table_csv::read(source, settings, sink),
    }
}
