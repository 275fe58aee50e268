//! Files that stop somewhere.

use std::io::{self, BufReader, Cursor, Read};
use std::ops::ControlFlow;

use catalog::{FeedFormat, FeedItem, GtinSource};

use super::{SAMPLES, read, settings, told};

/// What was read of a whole file is read of its beginning, too; nothing but a cut comes on top, and
/// nothing behind a cut. Delimited text has no end mark, so its last row may be shorter than it was.
#[test]
fn a_file_may_stop_at_any_byte() {
    for (format, whole) in SAMPLES {
        let all = read(format, whole);
        let is_marked = !matches!(format, FeedFormat::GoogleTsv | FeedFormat::ShopifyCsv);
        for length in 0..whole.len() {
            let mut items = read(format, &whole[..length]);
            let cuts = items.iter().filter(|item| matches!(item, FeedItem::Cut { .. })).count();
            let ends_in_cut = matches!(items.last(), Some(FeedItem::Cut { .. }));
            assert_eq!(cuts, usize::from(ends_in_cut), "{format:?} {length}");
            if ends_in_cut {
                items.pop();
            } else if matches!(format, FeedFormat::GoogleXml | FeedFormat::AcpJson) {
                assert!(length + 2 > whole.trim_ascii_end().len(), "{format:?} {length}");
            }
            if !is_marked {
                // The last row, or the product it was to be part of.
                items.truncate(items.len().saturating_sub(2));
            }
            assert_eq!(items, all[..items.len()], "{format:?} {length} {:?}", told(&items));
        }
    }
}

/// An input that fails in the middle, such as a broken connection.
#[test]
fn an_input_that_fails_is_a_cut() {
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
        assert!(matches!(items.last(), Some(FeedItem::Cut { .. })), "{format:?}");
    }
}

#[test]
fn a_reader_stops_when_told() {
    for (format, mut whole) in SAMPLES {
        let mut count = 0;
        connectors::read_feed(format, &mut whole, &settings(GtinSource::Gtin), &mut |_| {
            count += 1;
            if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(count, 2, "{format:?}");
    }
}
