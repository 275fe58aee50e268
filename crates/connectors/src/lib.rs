#![doc = include_str!("../README.md")]

mod acp_json;
mod amount;
mod detect;
mod element;
mod fault;
mod fragment;
mod google;
mod google_tsv;
mod google_xml;
mod gtin;
mod json;
mod limit;
mod line;
mod ndjson;
mod out;
mod sheet;
mod shopify_csv;
mod source;
pub mod write;

use std::io::BufRead;
use std::ops::ControlFlow;

use catalog::{FeedFormat, FeedItem, FeedSettings, ReadFeed};

pub use detect::detect;

use out::Out;
use source::Source;

/// The catalog asks for a reader by this type.
const _: ReadFeed = read_feed;

/// Reads a feed from beginning to end and hands over what it finds, until told to stop.
pub fn read_feed(
    format: FeedFormat,
    input: &mut dyn BufRead,
    settings: &FeedSettings,
    sink: &mut dyn FnMut(FeedItem) -> ControlFlow<()>,
) {
    let mut source = Source::new(input);
    let mut out = Out::new(sink);
    // How a reader ends is of no interest any more: it has said all there is.
    let _ = read(format, &mut source, settings, &mut out);
}

fn read(
    format: FeedFormat,
    source: &mut Source<'_>,
    settings: &FeedSettings,
    out: &mut Out<'_>,
) -> ControlFlow<()> {
    if source.peek().is_none() {
        return out.cut(1, fault::empty_file());
    }
    if source.is_utf16() {
        return out.cut(1, fault::unreadable_file("The file is UTF-16. Save it as UTF-8."));
    }
    match format {
        FeedFormat::Ndjson => ndjson::read(source, out),
        FeedFormat::GoogleXml => google_xml::read(source, settings, out),
        FeedFormat::GoogleTsv => google_tsv::read(source, settings, out),
        FeedFormat::ShopifyCsv => shopify_csv::read(source, settings, out),
        FeedFormat::AcpJson => acp_json::read(source, settings, out),
    }
}
