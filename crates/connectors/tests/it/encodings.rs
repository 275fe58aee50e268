//! Compression, encodings and files of other kinds.

use std::io::Write;

use catalog::FeedFormat::{self, AcpJson, Csv, GoogleTsv, GoogleXml, Ndjson, ShopifyCsv};
use catalog::FeedItem;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::{SAMPLES, product, read, some, summaries};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn utf16(text: &str, is_little: bool, has_mark: bool) -> Vec<u8> {
    let mark = if has_mark { "\u{feff}" } else { "" };
    let units = mark.encode_utf16().chain(text.encode_utf16());
    units.flat_map(|unit| if is_little { unit.to_le_bytes() } else { unit.to_be_bytes() }).collect()
}

fn latin1(text: &str) -> Vec<u8> {
    text.chars().map(|letter| u8::try_from(u32::from(letter)).expect("latin-1")).collect()
}

fn reason(items: &[FeedItem]) -> &str {
    match items {
        [FeedItem::Truncated { error, .. }] => &error.reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gzip_file_is_decompressed() {
    for (format, bytes) in SAMPLES {
        assert_eq!(summaries(&read(format, gzip(bytes))), summaries(&read(format, bytes)));
    }
    // Several members, as some programs append them.
    let parts = [gzip(b"{\"external_id\":\"a\"}\n"), gzip(b"{\"external_id\":\"b\"}\n")].concat();
    assert_eq!(read(Ndjson, parts).len(), 2);
}

#[test]
fn a_damaged_gzip_file_is_named() {
    let whole = gzip(&b"{\"external_id\":\"a\"}\n".repeat(20_000));
    for cut in [2, 11, whole.len() / 2, whole.len() - 1] {
        let items = read(Ndjson, &whole[..cut]);
        let Some(FeedItem::Truncated { error, .. }) = items.last() else { panic!("{cut}") };
        assert!(error.reason.contains("gzip"), "{cut}: {}", error.reason);
    }
}

#[test]
fn a_file_that_is_compressed_too_much_is_refused() {
    let bomb = gzip(&vec![b' '; 80 << 20]);
    let items = read(Ndjson, bomb);
    assert!(reason(&items).contains("compressed more"), "{}", reason(&items));
}

#[test]
fn utf16_is_converted() {
    let text = "id\ttitle\tprice\nA\tGemüse – 漢字\t1.50 EUR\n";
    for (is_little, has_mark) in [(true, true), (false, true), (true, false), (false, false)] {
        let items = read(GoogleTsv, utf16(text, is_little, has_mark));
        assert_eq!(product(&items, "A").name, some("Gemüse – 漢字"), "{is_little} {has_mark}");
        assert_eq!(summaries(&items)[1], "1 ? warning: file encoding");
    }
    let json = "{\"external_id\":\"a\",\"name\":\"ü\"}\n";
    assert_eq!(product(&read(Ndjson, utf16(json, true, true)), "a").name, some("ü"));
    let xml =
        "<?xml version='1.0' encoding='utf-16'?><rss><item><id>a</id><title>ü</title></item></rss>";
    assert_eq!(product(&read(GoogleXml, utf16(xml, false, true)), "a").name, some("ü"));
}

#[test]
fn other_encodings_are_converted() {
    let table = "Handle;Title;Variant Price\nbecher;Kräftiger Becher für Kaffee;12,50\n";
    let items = read(ShopifyCsv, latin1(table));
    assert_eq!(product(&items, "becher").name, some("Kräftiger Becher für Kaffee"));
    let FeedItem::Warning { error, .. } = &items[1] else { panic!("{items:?}") };
    assert!(error.reason.contains("windows-1252"), "{}", error.reason);
    // Only the end is not ASCII.
    let plain: Vec<String> = (0..9_000).map(|number| format!("p{number},Plain cup,1.50")).collect();
    let long = format!("id,title,price\n{}\n", plain.join("\n"));
    let items = read(Csv, [long.as_bytes(), &latin1("last,Größe,2.00\n")].concat());
    assert_eq!(product(&items, "last").name, some("Größe"));
    let xml = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><rss><item><id>a</id><title>Größe</title></item></rss>";
    assert_eq!(product(&read(GoogleXml, latin1(xml)), "a").name, some("Größe"));
    let unknown = xml.replace("ISO-8859-1", "X-OWN-1");
    assert!(reason(&read(GoogleXml, latin1(&unknown))).contains("encoding"));
}

#[test]
fn a_wrong_byte_in_a_utf8_table_concerns_its_row() {
    let text = [&b"id,title,price\na,Gr\xc3\xb6\xc3\x9fe,1\n"[..], b"b,\xff,1\nc,Cup,1\n"].concat();
    assert_eq!(
        summaries(&read(Csv, text)),
        ["2 a with 0 variants", "3 b invalid: row unreadable", "4 c with 0 variants"]
    );
}

#[test]
fn other_kinds_of_files_are_named() {
    let json = "[\n{\"external_id\":\"a\"}]";
    let cases: [(FeedFormat, &[u8], &str); 16] = [
        (Csv, b"PK\x03\x04\x14\0[Content_Types].xml", "Excel workbook"),
        (Ndjson, b"PK\x03\x04\x14\0\0\0feed.ndjson", "zip archive"),
        (Csv, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Excel"),
        (GoogleXml, b"%PDF-1.7", "PDF"),
        (GoogleXml, b"\n<!DOCTYPE HTML><html><body>", "web page"),
        (Csv, b"<html lang=en>", "web page"),
        (Ndjson, json.as_bytes(), "JSON array"),
        (Ndjson, b"<?xml version='1.0'?>", "XML"),
        (GoogleXml, b"id\ttitle\n", "not XML"),
        (GoogleXml, b"{\"products\":[]}", "not XML"),
        (AcpJson, b"id,title\n", "not JSON"),
        (Csv, b"{\"external_id\":\"a\"}\n", "JSON"),
        (ShopifyCsv, b"<rss></rss>", "XML"),
        (GoogleTsv, json.as_bytes(), "JSON"),
        (Ndjson, b"BZh91AY", "bzip2"),
        (Ndjson, b"\x28\xb5\x2f\xfd\x04", "zstd"),
    ];
    for (format, bytes, expected) in cases {
        let items = read(format, bytes);
        assert!(reason(&items).contains(expected), "{expected}: {}", reason(&items));
    }
    assert!(reason(&read(Ndjson, gzip(&gzip(b"{}")))).contains("twice"));
}
