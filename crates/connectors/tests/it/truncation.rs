//! Truncated files.

use std::io::{self, BufReader, Cursor, Read};
use std::ops::ControlFlow;

use catalog::{FeedFormat, FeedItem, GtinSource};

use super::{SAMPLES, read, settings, summaries};

/// Reading a prefix of a file returns a prefix of its items, possibly followed by `Truncated`, and nothing
/// after that. Delimited text has no end marker, so its last row may be shorter.
#[test]
fn a_file_may_be_truncated_at_any_byte() {
    for (format, whole) in SAMPLES {
        let all = read(format, whole);
        let has_end_marker =
            !matches!(format, FeedFormat::GoogleTsv | FeedFormat::ShopifyCsv | FeedFormat::Csv);
        for length in 0..whole.len() {
            let mut items = read(format, &whole[..length]);
            let truncations =
                items.iter().filter(|item| matches!(item, FeedItem::Truncated { .. })).count();
            let is_truncated = matches!(items.last(), Some(FeedItem::Truncated { .. }));
            assert_eq!(truncations, usize::from(is_truncated), "{format:?} {length}");
            if is_truncated {
                items.pop();
            } else if matches!(format, FeedFormat::GoogleXml | FeedFormat::AcpJson) {
                assert!(length + 2 > whole.trim_ascii_end().len(), "{format:?} {length}");
            }
            if !has_end_marker {
                // The last row, or the product that it belongs to.
                items.truncate(items.len().saturating_sub(2));
            }
            assert_eq!(items, all[..items.len()], "{format:?} {length} {:?}", summaries(&items));
        }
    }
}

/// An input that fails in the middle, such as a broken connection.
#[test]
fn a_failing_input_is_truncated() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    for (format, whole) in SAMPLES {
        let mut items = Vec::new();
        let mut input = BufReader::new(Cursor::new(whole).chain(Failing));
        let settings = settings(GtinSource::Gtin);
        connectors::read_feed(format, &mut input, &settings, &mut |item| {
            items.push(item);
            ControlFlow::Continue(())
        });
        assert!(matches!(items.last(), Some(FeedItem::Truncated { .. })), "{format:?}");
    }
}

#[test]
fn a_reader_stops_on_break() {
    for (format, mut whole) in SAMPLES {
        let mut count = 0;
        connectors::read_feed(format, &mut whole, &settings(GtinSource::Gtin), &mut |_| {
            count += 1;
            if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(count, 2, "{format:?}");
    }
}
