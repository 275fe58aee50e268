//! Recognizes files that are no feed, or a feed of another format than stated.

use catalog::{FeedFormat, FieldError};

use crate::field_errors;

/// First bytes of files that are not read, and what to do instead.
const KINDS: [(&[u8], &str); 9] = [
    (b"\xd0\xcf\x11\xe0", "The file is an old Excel or Office document. Save it as CSV (UTF-8)."),
    (b"%PDF", "The file is a PDF document, not a product feed."),
    (
        b"7z\xbc\xaf\x27\x1c",
        "The file is a 7z archive, which is not read. Send the file in it, or as gzip.",
    ),
    (b"Rar!", "The file is a RAR archive, which is not read. Send the file in it, or as gzip."),
    (
        b"BZh",
        "The file is compressed with bzip2, which is not read. Send it uncompressed, or as gzip.",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "The file is compressed with zstd, which is not read. Send it uncompressed, or as gzip.",
    ),
    (
        b"\xfd7zXZ",
        "The file is compressed with xz, which is not read. Send it uncompressed, or as gzip.",
    ),
    (b"\x1f\x8b", "The file is compressed twice. Compress it once."),
    (b"\x89PNG", "The file is an image, not a product feed."),
];

const HTML: &str = "The file is a web page (HTML), not a product feed. Check the address it was downloaded from: often \
                    it leads to a login page.";
const XLSX: &str =
    "The file is an Excel workbook (xlsx), which is not read. Save it as CSV (UTF-8).";
const ZIP: &str = "The file is a zip archive, which is not read. Send the file in it, or as gzip.";

/// Whether a file that starts with these bytes is no text.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04")
        || head.starts_with(b"PK\x05\x06")
        || KINDS.iter().any(|(magic, _)| head.starts_with(magic))
}

/// Returns why a file that starts with these bytes cannot be read in a format; `None` if it may be.
pub(crate) fn unsupported(format: FeedFormat, head: &[u8]) -> Option<FieldError> {
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        let has = |name: &[u8]| head.windows(name.len()).any(|window| window == name);
        let is_workbook = has(b"[Content_Types].xml") || has(b"xl/") || has(b"mimetype");
        return Some(field_errors::unsupported_file(if is_workbook { XLSX } else { ZIP }));
    }
    if let Some((_, reason)) = KINDS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(field_errors::unsupported_file(reason));
    }
    let text = head.trim_ascii_start();
    let begins =
        |with: &[u8]| text.get(..with.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(with));
    if begins(b"<!doctype html") || begins(b"<html") {
        return Some(field_errors::unsupported_file(HTML));
    }
    mismatch(format, text).map(field_errors::unsupported_file)
}

/// Returns why a text is not of the stated format, where its first characters show it.
fn mismatch(format: FeedFormat, text: &[u8]) -> Option<&'static str> {
    let first = *text.first()?;
    match format {
        FeedFormat::Ndjson if is_array_of_objects(text) => Some(
            "The file is a JSON array; NDJSON has one object per line, without brackets and commas around them. Use \
             format=acp_json if it is a feed of the Agentic Commerce Protocol.",
        ),
        FeedFormat::Ndjson if first == b'<' => {
            Some("The file is XML, not NDJSON. Use format=google_xml.")
        }
        FeedFormat::GoogleXml if first != b'<' => Some(
            "The file is not XML. Send the format of the file: google_tsv, shopify_csv, csv, ndjson or acp_json.",
        ),
        FeedFormat::AcpJson if first != b'{' && first != b'[' => Some(
            "The file is not JSON. Send the format of the file: google_xml, google_tsv, shopify_csv, csv or ndjson.",
        ),
        FeedFormat::GoogleTsv | FeedFormat::ShopifyCsv | FeedFormat::Csv if first == b'<' => {
            Some("The file is XML, not a table. Use format=google_xml.")
        }
        FeedFormat::GoogleTsv | FeedFormat::ShopifyCsv | FeedFormat::Csv
            if first == b'{' || is_array_of_objects(text) =>
        {
            Some("The file is JSON, not a table. Use format=ndjson or format=acp_json.")
        }
        _ => None,
    }
}

fn is_array_of_objects(text: &[u8]) -> bool {
    let inner = text.strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    inner.is_some_and(|inner| inner.first() == Some(&b'{'))
}
