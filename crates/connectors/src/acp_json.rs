//! The Agentic Commerce Protocol's feed of 2026-04-17: a document with `products`, a bare array of
//! them, or one product a line.

mod product;
pub(crate) mod wire;

use std::ops::ControlFlow;

use catalog::FeedSettings;

use crate::element::{Element, Elements, Next};
use crate::fault;
use crate::json;
use crate::out::Out;
use crate::source::Source;

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    out: &mut Out<'_>,
) -> ControlFlow<()> {
    let mut elements = Elements::new(source);
    loop {
        match elements.next() {
            Next::Element(element) => one(&element, settings, out)?,
            Next::End => return ControlFlow::Continue(()),
            Next::Cut => return out.cut(elements.source().line(), fault::truncated()),
            Next::Malformed => {
                let reason = "From here on the file is not a JSON document with products.";
                return out.cut(elements.source().line(), fault::unreadable_file(reason));
            }
            Next::Lines(element) => {
                one(&element, settings, out)?;
                return json::read_lines(elements.source(), out, |line, text, out| {
                    product::read(line, text, settings, out)
                });
            }
        }
    }
}

fn one(element: &Element, settings: &FeedSettings, out: &mut Out<'_>) -> ControlFlow<()> {
    match std::str::from_utf8(&element.bytes) {
        _ if element.is_too_long => {
            let id = json::dig(&String::from_utf8_lossy(&element.bytes), "id");
            out.broken(element.line, id, fault::too_long())
        }
        Err(_) => {
            let id = json::dig(&String::from_utf8_lossy(&element.bytes), "id");
            out.broken(element.line, id, fault::not_utf8())
        }
        Ok(text) => product::read(element.line, text, settings, out),
    }
}
