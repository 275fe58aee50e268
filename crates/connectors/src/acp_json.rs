//! Reads the product feed of the Agentic Commerce Protocol of 2026-04-17: a document with `products`, an
//! array of products, or one product per line.

mod product;
pub(crate) mod wire;

use std::ops::ControlFlow;

use catalog::FeedSettings;

use crate::field_errors;
use crate::json;
use crate::json_elements::{Element, JsonElements, Next};
use crate::sink::Sink;
use crate::source::Source;

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    let mut elements = JsonElements::new(source);
    loop {
        match elements.next() {
            Next::Element(element) => read_element(&element, settings, sink)?,
            Next::End => return ControlFlow::Continue(()),
            Next::Truncated => {
                let (line, error) = (elements.source().line(), elements.source().truncation());
                return sink.truncated(line, error);
            }
            Next::Malformed => {
                let reason = "From this line on, the file is not a JSON document with products.";
                return sink
                    .truncated(elements.source().line(), field_errors::unreadable_file(reason));
            }
            Next::JsonLines(element) => {
                read_element(&element, settings, sink)?;
                return json::read_lines(elements.source(), sink, |line, text, sink| {
                    product::read(line, text, settings, sink)
                });
            }
        }
    }
}

fn read_element(
    element: &Element,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    match std::str::from_utf8(&element.bytes) {
        _ if element.is_too_long => {
            let id = json::extract_field(&String::from_utf8_lossy(&element.bytes), "id");
            sink.invalid_row(element.line, id, field_errors::row_too_long())
        }
        Err(_) => {
            let id = json::extract_field(&String::from_utf8_lossy(&element.bytes), "id");
            sink.invalid_row(element.line, id, field_errors::row_not_utf8())
        }
        Ok(text) => product::read(element.line, text, settings, sink),
    }
}
