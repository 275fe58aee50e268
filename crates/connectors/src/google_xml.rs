//! Reads Google Merchant feeds as XML: RSS 2.0 with `<item>`, or Atom with `<entry>`.

use std::ops::ControlFlow;

use catalog::{FeedSettings, FieldError};
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::field_errors;
use crate::google::{GoogleRow, ItemGroups, escape_detail, field_name};
use crate::sink::Sink;
use crate::source::Source;
use crate::xml_items::{End, XmlItem, XmlItems};

/// Maximum nesting of elements within an item.
const DEPTH_MAX: usize = 16;

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    sink: &mut Sink<'_>,
) -> ControlFlow<()> {
    let mut items = XmlItems::new(source);
    let mut groups = ItemGroups::new(settings);
    let end = loop {
        let item = match items.next() {
            Ok(item) => item,
            Err(end) => break end,
        };
        let error = match parse(&item) {
            Ok(row) => groups.add(&row, sink)?.err().map(|error| (row.external_id(), error)),
            Err(error) => Some((extract_id(&item.bytes), error)),
        };
        if let Some((external_id, error)) = error {
            sink.invalid_row(item.line, external_id, error)?;
        }
    };
    match end {
        End::Complete => groups.close(sink),
        End::Truncated => sink.truncated(items.line(), items.truncation()),
        End::UnsupportedEncoding => sink.truncated(
            1,
            field_errors::unreadable_file(
                "The XML declaration names an encoding that is not read. Export the file as UTF-8.",
            ),
        ),
    }
}

fn parse(item: &XmlItem) -> Result<GoogleRow, FieldError> {
    if item.is_too_long {
        return Err(field_errors::row_too_long());
    }
    if !item.is_closed {
        return Err(field_errors::unreadable_row("The item has no end tag."));
    }
    let text = std::str::from_utf8(&item.bytes).map_err(|_| field_errors::row_not_utf8())?;
    let fields = ItemParser::read(text)?;
    Ok(GoogleRow { line: item.line, bytes: text.len(), fields })
}

/// The state while an item is parsed.
#[derive(Default)]
struct ItemParser {
    /// Names and texts of the open elements, outermost first.
    open: Vec<(String, String)>,
    /// Section, name and value of a `product_detail`.
    detail: [String; 3],
    fields: Vec<Field>,
}

struct Field {
    name: String,
    value: String,
    /// Whether it has the prefix `g:`, and thus precedence over a field of the same name without it.
    is_google: bool,
}

impl ItemParser {
    fn read(text: &str) -> Result<Vec<(String, String)>, FieldError> {
        let malformed = || {
            field_errors::unreadable_row(
                "The item is not well-formed XML. Close all tags, and write & as &amp;.",
            )
        };
        let mut reader = Reader::from_str(text);
        let mut parser = Self::default();
        loop {
            match reader.read_event().map_err(|_| malformed())? {
                Event::Start(tag) if parser.open.len() < DEPTH_MAX => parser.start(&tag),
                Event::Empty(tag) => {
                    parser.start(&tag);
                    parser.end();
                }
                Event::End(_) => parser.end(),
                Event::Text(text) => parser.write(&text.xml10_content()),
                Event::CData(text) => parser.write(&text.xml10_content()),
                Event::GeneralRef(reference) => parser.write(&resolve(&reference)?),
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof if parser.open.is_empty() => break,
                _ => return Err(malformed()),
            }
        }
        // Stable, so that repeated fields keep their order.
        parser.fields.sort_by_key(|field| !field.is_google);
        Ok(parser.fields.into_iter().map(|field| (field.name, field.value)).collect())
    }

    fn start(&mut self, tag: &BytesStart<'_>) {
        if self.open.is_empty() {
            self.detail = Default::default();
        }
        // Atom has the URL of a link in an attribute.
        let text = link_url(tag).unwrap_or_default();
        self.open.push((tag.name().as_ref().to_owned(), text));
    }

    /// Appends to the text of the innermost element. Text between fields is whitespace and is dropped.
    fn write(&mut self, text: &str) {
        if let Some((_, open)) = self.open.last_mut() {
            open.push_str(text);
        }
    }

    fn end(&mut self) {
        let Some((name, text)) = self.open.pop() else { return };
        // Unescaped markup is part of a description: its text belongs to the outer element.
        self.write(&text);
        let text = text.trim();
        let is_google = name.to_ascii_lowercase().starts_with("g:");
        match (self.open.len(), field_name(&name).as_str()) {
            (0, "product_detail") if self.detail.iter().any(|part| !part.is_empty()) => {
                let value = self.detail.each_ref().map(|part| escape_detail(part)).join(":");
                self.push("product_detail", &value, is_google);
            }
            (0, "summary" | "content") => self.push("description", text, is_google),
            (0, field) => self.push(field, text, is_google),
            (1, "section_name") => text.clone_into(&mut self.detail[0]),
            (1, "attribute_name") => text.clone_into(&mut self.detail[1]),
            (1, "attribute_value") => text.clone_into(&mut self.detail[2]),
            // Nested groups such as shipping and tax are ignored.
            _ => {}
        }
    }

    fn push(&mut self, name: &str, value: &str, is_google: bool) {
        if !value.is_empty() {
            let (name, value) = (name.to_owned(), value.to_owned());
            self.fields.push(Field { name, value, is_google });
        }
    }
}

/// Returns the URL of `<link href="…"/>` if the link refers to the product page.
fn link_url(tag: &BytesStart<'_>) -> Option<String> {
    if field_name(tag.name().as_ref()) != "link" {
        return None;
    }
    let value = |name: &str| {
        let attribute = tag.try_get_attribute(name).ok()??;
        attribute.normalized_value(XmlVersion::Implicit1_0).ok().map(std::borrow::Cow::into_owned)
    };
    let is_page = value("rel").is_none_or(|relation| relation == "alternate");
    value("href").filter(|_| is_page)
}

/// Resolves `&amp;` or `&#38;`. Entities that the file declares are not supported.
fn resolve(reference: &BytesRef<'_>) -> Result<String, FieldError> {
    let unknown = || {
        field_errors::unreadable_row(
            "The item uses an undefined XML entity. \
             Use the character itself or a CDATA section.",
        )
    };
    match reference.resolve_char_ref().map_err(|_| unknown())? {
        Some(character) => Ok(character.to_string()),
        None => resolve_xml_entity(reference).map(str::to_owned).ok_or_else(unknown),
    }
}

/// Extracts the product identifier without parsing the item.
fn extract_id(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let names = ["g:item_group_id", "item_group_id", "g:id", "id"];
    names.iter().find_map(|name| {
        let after = text.split_once(&format!("<{name}>"))?.1;
        let value = after.split_once("</")?.0.trim();
        let value = value.strip_prefix("<![CDATA[").unwrap_or(value);
        let value = value.strip_suffix("]]>").unwrap_or(value).trim();
        let is_plain = !value.is_empty() && !value.contains(['<', '&', '\u{fffd}']);
        is_plain.then(|| value.to_owned())
    })
}
