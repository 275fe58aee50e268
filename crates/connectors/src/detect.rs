//! Detects the format of a file by its name, content type and first bytes.

use std::io::Read;

use catalog::FeedFormat;

/// Bytes of a compressed file that are examined.
const DECOMPRESSED_MAX: u64 = 64 * 1024;

/// Returns the format of a file, or `None` if it cannot be detected. The bytes take precedence, because
/// names and content types are often wrong; the name decides if the bytes are ambiguous.
#[must_use]
pub fn detect(
    file_name: Option<&str>,
    content_type: Option<&str>,
    first_bytes: &[u8],
) -> Option<FeedFormat> {
    let mut decompressed = Vec::new();
    if first_bytes.starts_with(b"\x1f\x8b") {
        // The beginning of a file may be cut within a block: what was decompressed until then counts.
        let mut decoder = flate2::read::GzDecoder::new(first_bytes).take(DECOMPRESSED_MAX);
        let _ = decoder.read_to_end(&mut decompressed);
    }
    let first_bytes = if decompressed.is_empty() { first_bytes } else { &decompressed };
    let text = first_bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first_bytes);
    by_bytes(text.trim_ascii_start()).or_else(|| {
        let name = file_name.unwrap_or_default().to_ascii_lowercase();
        by_name(&name).or_else(|| by_content_type(&content_type?.to_ascii_lowercase()))
    })
}

fn by_bytes(text: &[u8]) -> Option<FeedFormat> {
    match text.first()? {
        b'<' => Some(FeedFormat::GoogleXml),
        b'[' => Some(FeedFormat::AcpJson),
        b'{' => by_object(text),
        _ => by_header(text),
    }
}

/// A draft has an `external_id`; a product of the Agentic Commerce Protocol has `variants`, or is in `products`.
fn by_object(text: &[u8]) -> Option<FeedFormat> {
    let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    let first_line = text.split(|byte| *byte == b'\n').next().unwrap_or(text);
    let is_draft = first_line.windows(13).any(|window| window == b"\"external_id\"");
    if is_draft {
        Some(FeedFormat::Ndjson)
    } else if has(b"\"products\"") || has(b"\"variants\"") {
        Some(FeedFormat::AcpJson)
    } else {
        None
    }
}

fn by_header(text: &[u8]) -> Option<FeedFormat> {
    let line = text.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line).to_lowercase();
    let has = |delimiter: char, names: &[&str]| {
        let mut columns = line.split(delimiter).map(|column| column.trim().trim_matches('"'));
        columns.any(|column| names.contains(&column))
    };
    if has(',', &["handle", "url handle"]) {
        Some(FeedFormat::ShopifyCsv)
    } else if line.contains('\t') && has('\t', &["id"]) {
        Some(FeedFormat::GoogleTsv)
    } else {
        None
    }
}

fn by_name(name: &str) -> Option<FeedFormat> {
    // Files are decompressed before they are read.
    let name = name.strip_suffix(".gz").unwrap_or(name);
    FeedFormat::from_file_extension(name.rsplit_once('.')?.1)
}

fn by_content_type(content_type: &str) -> Option<FeedFormat> {
    // `text/csv` and `application/json` are sent with files of any kind, so that they decide nothing here.
    FeedFormat::from_media_type(content_type)
        .filter(|format| !matches!(format, FeedFormat::ShopifyCsv | FeedFormat::AcpJson))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_detected_by_its_content() {
        for (bytes, format) in [
            (&b"{\"external_id\":\"a\"}\n"[..], FeedFormat::Ndjson),
            (b"\xef\xbb\xbf<?xml version=\"1.0\"?><rss>", FeedFormat::GoogleXml),
            (b"\n <feed>", FeedFormat::GoogleXml),
            (b"ID\tTitle\tPrice\n", FeedFormat::GoogleTsv),
            (b"Handle,Title,Body (HTML)\r\n", FeedFormat::ShopifyCsv),
            (b"\"Title\",\"URL handle\"\n", FeedFormat::ShopifyCsv),
            (b"{\"products\":[", FeedFormat::AcpJson),
            (b"{\"id\":\"a\",\"variants\":[]}\n", FeedFormat::AcpJson),
            (b"[{", FeedFormat::AcpJson),
        ] {
            assert_eq!(detect(Some("feed.csv"), Some("text/plain"), bytes), Some(format));
        }
    }

    #[test]
    fn names_and_content_types_are_the_fallback() {
        assert_eq!(detect(Some("a.ndjson.gz"), None, b""), Some(FeedFormat::Ndjson));
        assert_eq!(detect(Some("A.XML"), None, b""), Some(FeedFormat::GoogleXml));
        let json_lines = Some("application/x-ndjson; charset=utf-8");
        assert_eq!(detect(None, json_lines, b"{\"id\":1}"), Some(FeedFormat::Ndjson));
        assert_eq!(detect(Some("list.csv"), Some("text/csv"), b"a,b,c\n"), None);
    }
}
