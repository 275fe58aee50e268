//! Whatever comes in, a reader answers.

use catalog::{FeedFormat, FeedItem};
use proptest::collection::vec;
use proptest::prelude::*;

use super::{SAMPLES, read};

/// Nothing comes behind a cut.
fn assert_ends_well(items: &[FeedItem]) {
    let before = items.split_last().map_or(&[][..], |(_, before)| before);
    assert!(!before.iter().any(|item| matches!(item, FeedItem::Cut { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_survived(bytes in vec(any::<u8>(), 0..600)) {
        for (format, _) in FeedFormat::ALL {
            assert_ends_well(&read(format, &bytes));
        }
    }

    #[test]
    fn any_text_with_the_right_signs_is_survived(
        text in "([<>&/!?;:,\\[\\]{}\"'\\\\\t\n\r-]|<item>|</item>|<!--|-->|<!\\[CDATA\\[|\\]\\]>|<g:id>|</g:id>|\"id\"|id|Handle|\u{e9}){0,80}"
    ) {
        for (format, _) in FeedFormat::ALL {
            let heads = ["", "<rss>", "id\ttitle\n", "Handle,Title,Price\n", "[", "{\"products\":["];
            for head in heads {
                assert_ends_well(&read(format, format!("{head}{text}")));
            }
        }
    }

    #[test]
    fn a_sample_with_changed_bytes_is_survived(changes in vec((any::<usize>(), any::<u8>()), 1..20)) {
        for (format, sample) in SAMPLES {
            let mut bytes = sample.to_vec();
            for (at, byte) in &changes {
                let at = at % bytes.len();
                bytes[at] = *byte;
            }
            assert_ends_well(&read(format, &bytes));
        }
    }
}
