//! Which format a file has, by its name, its content type and its first bytes.

use catalog::FeedFormat;

/// The format of a file, where that can be told. The bytes speak first, since names and types are
/// often given by software that did not look; the name decides between what begins alike.
#[must_use]
pub fn detect(
    file_name: Option<&str>,
    content_type: Option<&str>,
    first_bytes: &[u8],
) -> Option<FeedFormat> {
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

/// A draft has an `external_id`; a product of the protocol has `variants`, or stands in `products`.
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
    // Compression is taken off before anyone reads.
    let name = name.strip_suffix(".gz").unwrap_or(name);
    match name.rsplit_once('.')?.1 {
        "ndjson" => Some(FeedFormat::Ndjson),
        "xml" | "rss" | "atom" => Some(FeedFormat::GoogleXml),
        "tsv" => Some(FeedFormat::GoogleTsv),
        _ => None,
    }
}

fn by_content_type(content_type: &str) -> Option<FeedFormat> {
    match content_type.split(';').next()?.trim() {
        "application/x-ndjson" | "application/ndjson" => Some(FeedFormat::Ndjson),
        "application/xml" | "text/xml" | "application/rss+xml" | "application/atom+xml" => {
            Some(FeedFormat::GoogleXml)
        }
        "text/tab-separated-values" => Some(FeedFormat::GoogleTsv),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_what_it_holds() {
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
    fn names_and_types_help_where_the_bytes_do_not() {
        assert_eq!(detect(Some("a.ndjson.gz"), None, b""), Some(FeedFormat::Ndjson));
        assert_eq!(detect(Some("A.XML"), None, b""), Some(FeedFormat::GoogleXml));
        let json_lines = Some("application/x-ndjson; charset=utf-8");
        assert_eq!(detect(None, json_lines, b"{\"id\":1}"), Some(FeedFormat::Ndjson));
        assert_eq!(detect(Some("list.csv"), Some("text/csv"), b"a,b,c\n"), None);
    }
}
