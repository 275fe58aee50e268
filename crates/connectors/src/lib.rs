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
mod json;
mod json_elements;
mod limits;
mod line;
mod ndjson;
mod shopify_csv;
mod sink;
mod source;
pub mod write;
mod xml_items;

use std::io::BufRead;
use std::ops::ControlFlow;

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
    let mut source = Source::new(input);
    let mut sink = Sink::new(emit);
    // The flow of control has no meaning beyond this point.
    let _ = read(format, &mut source, settings, &mut sink);
}

fn read(
    format: FeedFormat,
    source: &mut Source<'_>,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    if source.peek().is_none() {
        return sink.truncated(1, field_errors::empty_file());
    }
    if source.is_utf16() {
        return sink
            .truncated(1, field_errors::unreadable_file("The file is UTF-16. Save it as UTF-8."));
    }
    match format {
        FeedFormat::Ndjson => ndjson::read(source, sink),
        FeedFormat::GoogleXml => google_xml::read(source, settings, sink),
        FeedFormat::GoogleTsv => google_tsv::read(source, settings, sink),
        FeedFormat::ShopifyCsv => shopify_csv::read(source, settings, sink),
        FeedFormat::AcpJson => acp_json::read(source, settings, sink),
    }
}
