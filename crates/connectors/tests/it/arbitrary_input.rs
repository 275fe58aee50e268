//! Readers accept any input without panic.

use catalog::{FeedFormat, FeedItem};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{SAMPLES, read};

/// Asserts that no item follows `Truncated`.
fn assert_truncated_is_last(items: &[FeedItem]) {
    let before = items.split_last().map_or(&[][..], |(_, before)| before);
    assert!(!before.iter().any(|item| matches!(item, FeedItem::Truncated { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..600)) {
        for &format in FeedFormat::ALL {
            assert_truncated_is_last(&read(format, &bytes));
        }
    }

    #[test]
    fn any_markup_is_read_without_panic(
        text in "([<>&/!?;:,\\[\\]{}\"'\\\\\t\n\r-]|<item>|</item>|<!--|-->|<!\\[CDATA\\[|\\]\\]>|<g:id>|</g:id>|\"id\"|id|Handle|\u{e9}){0,80}"
    ) {
        for &format in FeedFormat::ALL {
            let heads = ["", "<rss>", "id\ttitle\n", "Handle,Title,Price\n", "[", "{\"products\":["];
            for head in heads {
                assert_truncated_is_last(&read(format, format!("{head}{text}")));
            }
        }
    }

    #[test]
    fn a_corrupted_sample_is_read_without_panic(changes in vec((any::<usize>(), any::<u8>()), 1..20)) {
        for (format, sample) in SAMPLES {
            let mut bytes = sample.to_vec();
            for (at, byte) in &changes {
                let at = at % bytes.len();
                bytes[at] = *byte;
            }
            assert_truncated_is_last(&read(format, &bytes));
        }
    }
}
