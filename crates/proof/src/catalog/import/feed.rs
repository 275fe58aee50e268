//! Generated Google feeds with known invalid rows.

use std::io::Write;

/// The defect of an invalid row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowDefect {
    Price,
    AmbiguousPrice,
    Currency,
    Encoding,
    Entity,
    HugeField,
    HugeRow,
    NoTitle,
    NoId,
    Url,
    Condition,
    MismatchedTags,
    Duplicate,
    Truncated,
}

impl RowDefect {
    const KINDS: [Self; 13] = [
        Self::Price,
        Self::AmbiguousPrice,
        Self::Currency,
        Self::Encoding,
        Self::Entity,
        Self::HugeField,
        Self::HugeRow,
        Self::NoTitle,
        Self::NoId,
        Self::Url,
        Self::Condition,
        Self::MismatchedTags,
        Self::Duplicate,
    ];

    /// Returns whether a row error describes this defect.
    pub(crate) fn matches(self, field: &str, code: &str) -> bool {
        match self {
            Self::Price | Self::AmbiguousPrice => (field, code) == ("price", "invalid_amount"),
            Self::Currency => code == "unknown_currency",
            Self::Encoding | Self::Entity | Self::MismatchedTags => code == "unreadable",
            Self::HugeField | Self::HugeRow => code == "too_long",
            Self::NoTitle => (field, code) == ("name", "missing"),
            Self::NoId => code == "missing",
            Self::Url => (field, code) == ("url", "invalid_url"),
            Self::Condition => (field, code) == ("condition", "invalid_value"),
            Self::Duplicate => code == "duplicate" || code == "invalid_value",
            Self::Truncated => code == "truncated",
        }
    }
}

/// A feed and the lines of its invalid rows.
pub(crate) struct Feed {
    pub(crate) bytes: Vec<u8>,
    pub(crate) invalid_rows: Vec<(i64, RowDefect)>,
}

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
    <!DOCTYPE rss [<!ENTITY lol \"lol\"><!ENTITY lol2 \"&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;\"><!ENTITY lol3 \"&lol2;&lol2;&lol2;&lol2;\">]>\n\
    <rss version=\"2.0\" xmlns:g=\"http://base.google.com/ns/1.0\"><channel><title>Things</title>\n";
/// Number of lines in `HEAD`.
const HEAD_LINES: i64 = 3;

impl Feed {
    /// Returns a complete feed in which one row in two thousand is invalid.
    pub(crate) fn large(rows: usize) -> Self {
        let defect = |row: usize| (row % 2_000 == 1_000).then_some(RowDefect::Condition);
        Self::write(rows, defect, true)
    }

    /// Returns a feed with this number of invalid rows, evenly distributed over the kinds, that ends in the
    /// middle of its last row.
    pub(crate) fn with_invalid_rows(rows: usize, invalid: usize) -> Self {
        let every = rows / invalid;
        let kind = |row: usize| {
            let is_invalid = row % every == every - 1 && row / every < invalid - 1;
            let kind = RowDefect::KINDS[(row / every) % RowDefect::KINDS.len()];
            // Each is a megabyte: a few suffice.
            let kind = if kind == RowDefect::HugeRow && row / every > 100 {
                RowDefect::Price
            } else {
                kind
            };
            is_invalid.then_some(kind)
        };
        Self::write(rows, kind, false)
    }

    fn write(
        rows: usize,
        defect_of: impl Fn(usize) -> Option<RowDefect>,
        is_complete: bool,
    ) -> Self {
        let mut feed = Self { bytes: HEAD.as_bytes().to_vec(), invalid_rows: Vec::new() };
        let (mut line, last) = (HEAD_LINES, rows - 1);
        for row in 0..rows {
            line += 1;
            let defect = defect_of(row);
            if !is_complete && row == last {
                // The file ends inside this item.
                feed.invalid_rows.push((line, RowDefect::Truncated));
                feed.bytes.extend_from_slice(b"<item><g:id>t");
                return feed;
            }
            feed.invalid_rows.extend(defect.map(|defect| (line, defect)));
            feed.bytes.extend(item(row, defect));
            feed.bytes.push(b'\n');
        }
        let _ = feed.bytes.write_all(b"</channel></rss>\n");
        feed
    }
}

/// Returns an item on one line.
fn item(row: usize, defect: Option<RowDefect>) -> Vec<u8> {
    let is = |kind: RowDefect| defect == Some(kind);
    let id = match defect {
        Some(RowDefect::NoId) => String::new(),
        Some(RowDefect::Duplicate) => String::from("t0000000"),
        _ => format!("t{row:07}"),
    };
    let id = if id.is_empty() { id } else { format!("<g:id>{id}</g:id>") };
    let title = match defect {
        Some(RowDefect::NoTitle) => String::new(),
        Some(RowDefect::Entity) => String::from("<g:title>&lol3;</g:title>"),
        Some(RowDefect::HugeField) => format!("<g:title>{}</g:title>", "long ".repeat(30_000)),
        Some(RowDefect::HugeRow) => format!("<g:title>{}</g:title>", "long ".repeat(260_000)),
        Some(RowDefect::MismatchedTags) => String::from("<g:title>Thing</g:name>"),
        _ => format!("<g:title>Garden thing number {row}, solid and useful</g:title>"),
    };
    let price = match defect {
        Some(RowDefect::Price) => "twelve EUR".to_owned(),
        Some(RowDefect::AmbiguousPrice) => "1.299 EUR".to_owned(),
        Some(RowDefect::Currency) => "12.00 EUX".to_owned(),
        _ => format!("{}.{:02} EUR", 5 + row % 400, row % 100),
    };
    let gtin = gtin(row);
    let link = if is(RowDefect::Url) { "javascript:alert(1)" } else { "https://things.example/p" };
    let condition = if is(RowDefect::Condition) { "shiny" } else { "new" };
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
    if is(RowDefect::Encoding)
        && let Some(index) = bytes.windows(6).position(|window| window == b"garden")
    {
        bytes[index] = 0xff;
    }
    bytes
}

/// Returns a GTIN with a valid check digit for each row.
fn gtin(row: usize) -> String {
    let body = format!("952{row:09}");
    let digits = body.bytes().rev().zip([3, 1].into_iter().cycle());
    let sum: u32 = digits.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
    format!("{body}{}", (10 - sum % 10) % 10)
}
