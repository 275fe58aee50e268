//! A Google feed, sound or broken in places that are known.

use std::io::Write;

/// What is wrong with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breakage {
    Gtin,
    Price,
    AmbiguousPrice,
    Currency,
    Encoding,
    Entity,
    HugeField,
    HugeRow,
    NoTitle,
    NoId,
    Address,
    Condition,
    Tags,
    Duplicate,
    Truncated,
}

impl Breakage {
    const KINDS: [Self; 14] = [
        Self::Gtin,
        Self::Price,
        Self::AmbiguousPrice,
        Self::Currency,
        Self::Encoding,
        Self::Entity,
        Self::HugeField,
        Self::HugeRow,
        Self::NoTitle,
        Self::NoId,
        Self::Address,
        Self::Condition,
        Self::Tags,
        Self::Duplicate,
    ];

    /// Whether a fault says what is wrong.
    pub(crate) fn explains(self, field: &str, code: &str) -> bool {
        match self {
            Self::Gtin => (field, code) == ("gtin", "invalid_gtin"),
            Self::Price | Self::AmbiguousPrice => (field, code) == ("price", "invalid_amount"),
            Self::Currency => code == "unknown_currency",
            Self::Encoding | Self::Entity | Self::Tags => code == "unreadable",
            Self::HugeField | Self::HugeRow => code == "too_long",
            Self::NoTitle => (field, code) == ("name", "missing"),
            Self::NoId => code == "missing",
            Self::Address => (field, code) == ("url", "invalid_url"),
            Self::Condition => (field, code) == ("condition", "invalid_value"),
            Self::Duplicate => code == "duplicate" || code == "invalid_value",
            Self::Truncated => code == "truncated",
        }
    }
}

/// A feed, and which of its lines are broken.
pub(crate) struct Feed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) broken: Vec<(i64, Breakage)>,
}

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <!DOCTYPE rss [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;\"><!ENTITY lol3 \"&lol2;&lol2;&lol2;&lol2;\">]>\n\
    <rss version=\"2.0\" xmlns:g=\"http://base.google.com/ns/1.0\"><channel><title>Things</title>\n";
/// The head has so many lines.
const HEAD_LINES: i64 = 3;

impl Feed {
    /// A sound feed but for one row in two thousand.
    pub(crate) fn large(rows: usize) -> Self {
        let broken = |row: usize| (row % 2_000 == 1_000).then_some(Breakage::Gtin);
        Self::write(rows, broken, true)
    }

    /// A feed with so many broken rows, of each kind about as many, that ends in the middle of its last row.
    pub(crate) fn broken(rows: usize, broken: usize) -> Self {
        let every = rows / broken;
        let kind = |row: usize| {
            let is_broken = row % every == every - 1 && row / every < broken - 1;
            let kind = Breakage::KINDS[(row / every) % Breakage::KINDS.len()];
            // A megabyte each: some are enough.
            let kind =
                if kind == Breakage::HugeRow && row / every > 100 { Breakage::Price } else { kind };
            is_broken.then_some(kind)
        };
        Self::write(rows, kind, false)
    }

    fn write(rows: usize, broken: impl Fn(usize) -> Option<Breakage>, whole: bool) -> Self {
        let mut feed = Self { bytes: HEAD.as_bytes().to_vec(), broken: Vec::new() };
        let (mut line, last) = (HEAD_LINES, rows - 1);
        for row in 0..rows {
            line += 1;
            let breakage = broken(row);
            if !whole && row == last {
                // The file ends inside this item.
                feed.broken.push((line, Breakage::Truncated));
                feed.bytes.extend_from_slice(b"<item><g:id>t");
                return feed;
            }
            feed.broken.extend(breakage.map(|breakage| (line, breakage)));
            feed.bytes.extend(item(row, breakage));
            feed.bytes.push(b'\n');
        }
        let _ = feed.bytes.write_all(b"</channel></rss>\n");
        feed
    }
}

/// One item, on one line.
fn item(row: usize, breakage: Option<Breakage>) -> Vec<u8> {
    let is = |kind: Breakage| breakage == Some(kind);
    let id = match breakage {
        Some(Breakage::NoId) => String::new(),
        Some(Breakage::Duplicate) => String::from("t0000000"),
        _ => format!("t{row:07}"),
    };
    let id = if id.is_empty() { id } else { format!("<g:id>{id}</g:id>") };
    let title = match breakage {
        Some(Breakage::NoTitle) => String::new(),
        Some(Breakage::Entity) => String::from("<g:title>&lol3;</g:title>"),
        Some(Breakage::HugeField) => format!("<g:title>{}</g:title>", "long ".repeat(30_000)),
        Some(Breakage::HugeRow) => format!("<g:title>{}</g:title>", "long ".repeat(260_000)),
        Some(Breakage::Tags) => String::from("<g:title>Thing</g:name>"),
        _ => format!("<g:title>Garden thing number {row}, solid and useful</g:title>"),
    };
    let price = match breakage {
        Some(Breakage::Price) => "twelve EUR".to_owned(),
        Some(Breakage::AmbiguousPrice) => "1.299 EUR".to_owned(),
        Some(Breakage::Currency) => "12.00 EUX".to_owned(),
        _ => format!("{}.{:02} EUR", 5 + row % 400, row % 100),
    };
    let gtin = if is(Breakage::Gtin) { "4006381333930".to_owned() } else { gtin(row) };
    let link =
        if is(Breakage::Address) { "javascript:alert(1)" } else { "https://things.example/p" };
    let condition = if is(Breakage::Condition) { "shiny" } else { "new" };
    let mut bytes = format!(
        "<item>{id}{title}<g:description>A thing for the garden. It is made of oiled oak and galvanised steel, lasts for \
         years outside, and comes with everything that is needed to put it up. Number {row}.</g:description>\
         <g:link>{link}</g:link><g:image_link>https://things.example/{row}.jpg</g:image_link>\
         <g:additional_image_link>https://things.example/{row}-b.jpg</g:additional_image_link>\
         <g:availability>in_stock</g:availability><g:price>{price}</g:price><g:gtin>{gtin}</g:gtin>\
         <g:brand>Oak &amp; Iron</g:brand><g:condition>{condition}</g:condition>\
         <g:product_type>Garden &gt; Things</g:product_type><g:color>green</g:color></item>"
    )
    .into_bytes();
    if is(Breakage::Encoding)
        && let Some(place) = bytes.windows(6).position(|window| window == b"garden")
    {
        bytes[place] = 0xff;
    }
    bytes
}

/// An article number for each row, with a right check digit.
fn gtin(row: usize) -> String {
    let body = format!("952{row:09}");
    let digits = body.bytes().rev().zip([3, 1].into_iter().cycle());
    let sum: u32 = digits.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    format!("{body}{}", (10 - sum % 10) % 10)
}
