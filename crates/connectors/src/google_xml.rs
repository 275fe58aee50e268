//! Google Merchant as XML: RSS 2.0 with `<item>`, or Atom with `<entry>`.

use std::ops::ControlFlow;

use catalog::{Fault, FeedSettings};
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::fault;
use crate::fragment::{End, Fragment, Fragments};
use crate::google::{Bag, Groups, escape_detail, field_name};
use crate::out::Out;
use crate::source::Source;

/// Elements inside an item are nested no deeper than this: a detail has parts, and parts have text.
const DEPTH_MAX: usize = 16;

pub(crate) fn read(
    source: &mut Source<'_>,
    settings: &FeedSettings,
    out: &mut Out<'_>,
) -> ControlFlow<()> {
    let mut fragments = Fragments::new(source);
    let mut groups = Groups::new(settings);
    let end = loop {
        let fragment = match fragments.next() {
            Ok(fragment) => fragment,
            Err(end) => break end,
        };
        let fault = match parse(&fragment) {
            Ok(bag) => groups.add(&bag, out)?.err().map(|fault| (bag.external_id(), fault)),
            Err(fault) => Some((dig(&fragment.bytes), fault)),
        };
        if let Some((external_id, fault)) = fault {
            out.broken(fragment.line, external_id, fault)?;
        }
    };
    match end {
        End::Whole => groups.close(out),
        End::Cut => out.cut(fragments.line(), fault::truncated()),
        End::OtherEncoding => out.cut(
            1,
            fault::unreadable_file("The file is not declared as UTF-8. Export it as UTF-8."),
        ),
    }
}

fn parse(fragment: &Fragment) -> Result<Bag, Fault> {
    if fragment.is_too_long {
        return Err(fault::too_long());
    }
    if !fragment.is_closed {
        return Err(fault::unreadable("The item has no end tag."));
    }
    let text = std::str::from_utf8(&fragment.bytes).map_err(|_| fault::not_utf8())?;
    let fields = Item::read(text)?;
    Ok(Bag { line: fragment.line, bytes: text.len(), fields })
}

/// An item while it is read.
#[derive(Default)]
struct Item {
    /// Names of the elements that are open, from the outside.
    open: Vec<String>,
    /// The text of the field that is open.
    text: String,
    /// The parts of a detail: section, name and value.
    detail: [String; 3],
    fields: Vec<Field>,
}

struct Field {
    name: String,
    value: String,
    /// Whether it has Google's prefix; it then goes before the feed's own field of that name.
    is_google: bool,
}

impl Item {
    fn read(text: &str) -> Result<Vec<(String, String)>, Fault> {
        let malformed = || {
            fault::unreadable(
                "The item is not well-formed XML. Close all tags, and write & as &amp;.",
            )
        };
        let mut reader = Reader::from_str(text);
        let mut item = Self::default();
        loop {
            match reader.read_event().map_err(|_| malformed())? {
                Event::Start(tag) if item.open.len() < DEPTH_MAX => item.begin(&tag),
                Event::Empty(tag) => {
                    item.begin(&tag);
                    item.end();
                }
                Event::End(_) => item.end(),
                Event::Text(text) => item.text.push_str(&text.xml10_content()),
                Event::CData(text) => item.text.push_str(&text.xml10_content()),
                Event::GeneralRef(reference) => item.text.push_str(&resolve(&reference)?),
                Event::Comment(_) | Event::PI(_) => {}
                Event::Eof if item.open.is_empty() => break,
                _ => return Err(malformed()),
            }
        }
        // Stable, so that repeated fields keep their order.
        item.fields.sort_by_key(|field| !field.is_google);
        Ok(item.fields.into_iter().map(|field| (field.name, field.value)).collect())
    }

    fn begin(&mut self, tag: &BytesStart<'_>) {
        let name = tag.name();
        self.open.push(name.as_ref().to_owned());
        if self.open.len() == 1 {
            self.detail = Default::default();
        }
        // Atom keeps the address of a link in an attribute.
        self.text = link_address(tag).unwrap_or_default();
    }

    fn end(&mut self) {
        let Some(name) = self.open.pop() else { return };
        let text = std::mem::take(&mut self.text);
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
            // Shipping, taxes and the like are groups of their own.
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

/// The address of `<link href="…"/>`, unless the link leads to something other than the page.
fn link_address(tag: &BytesStart<'_>) -> Option<String> {
    if field_name(tag.name().as_ref()) != "link" {
        return None;
    }
    let value = |name: &str| {
        let attribute = tag.try_get_attribute(name).ok()??;
        attribute.normalized_value(XmlVersion::Implicit1_0).ok().map(std::borrow::Cow::into_owned)
    };
    let leads_to_page = value("rel").is_none_or(|relation| relation == "alternate");
    value("href").filter(|_| leads_to_page)
}

/// The text of `&amp;` or `&#38;`. Entities a file declares itself are not known.
fn resolve(reference: &BytesRef<'_>) -> Result<String, Fault> {
    let unknown = || {
        fault::unreadable(
            "The item uses an entity that XML does not have. \
             Write the character itself, or put the text into CDATA.",
        )
    };
    match reference.resolve_char_ref().map_err(|_| unknown())? {
        Some(character) => Ok(character.to_string()),
        None => resolve_xml_entity(reference).map(str::to_owned).ok_or_else(unknown),
    }
}

/// The product an item is about, found without parsing it.
fn dig(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let names = ["g:item_group_id", "item_group_id", "g:id", "id"];
    names.iter().find_map(|name| {
        let behind = text.split_once(&format!("<{name}>"))?.1;
        let value = behind.split_once("</")?.0.trim();
        let value = value.strip_prefix("<![CDATA[").unwrap_or(value);
        let value = value.strip_suffix("]]>").unwrap_or(value).trim();
        let is_plain = !value.is_empty() && !value.contains(['<', '&', '\u{fffd}']);
        is_plain.then(|| value.to_owned())
    })
}
