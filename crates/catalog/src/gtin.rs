//! Global Trade Item Numbers, the numbers of bar codes: 8, 12, 13 or 14 digits, the last of which is a check digit.

use std::fmt;
use std::str::FromStr;

/// Digits of the longest form.
const DIGITS_MAX: usize = 14;

/// A GTIN as it was written, without spaces and hyphens. The same article may be written with or without leading zeros;
/// [`Gtin::to_14`] is the canonical form.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtin {
    /// ASCII digits, padded with zero bytes.
    digits: [u8; DIGITS_MAX],
    length: usize,
}

/// Why a text is not a GTIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GtinError {
    #[error("a GTIN consists of digits, optionally separated by spaces or hyphens")]
    NotDigits,
    #[error("a GTIN has 8, 12, 13 or 14 digits; send an internal number as sku")]
    Length,
    #[error("the check digit of the GTIN is wrong: a digit is wrong, or two are transposed")]
    CheckDigit,
    #[error("a GTIN must not consist of zeros; leave the field out if there is none")]
    Zeros,
}

impl Gtin {
    /// Returns the digits as they were written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.digits()).unwrap_or_default()
    }

    /// Returns the form with 14 digits, by which articles are compared.
    #[must_use]
    pub fn to_14(&self) -> String {
        format!("{:0>DIGITS_MAX$}", self.as_str())
    }

    /// Whether the number is valid only within one company or region (GS1 restricted circulation): shops print such
    /// numbers on goods they weigh, and two shops use the same number for different goods.
    #[must_use]
    pub fn is_restricted(&self) -> bool {
        // The first of 14 digits is the packaging level, not part of the company prefix.
        let code = self.to_14();
        let code = &code[1..];
        // Five leading zeros mark a GTIN-8, which has prefixes of its own.
        match code.strip_prefix("00000") {
            Some(short) => short.starts_with(['0', '2']),
            None => ["02", "04", "2"].iter().any(|prefix| code.starts_with(prefix)),
        }
    }

    fn digits(&self) -> &[u8] {
        &self.digits[..self.length]
    }

    /// Whether the digits, weighted 1 and 3 in turn from the right, sum up to a multiple of ten.
    fn has_valid_check_digit(&self) -> bool {
        let weights = [1, 3].into_iter().cycle();
        let weighted = self.digits().iter().rev().zip(weights);
        let sum: u32 = weighted.map(|(digit, weight)| u32::from(digit - b'0') * weight).sum();
        sum.is_multiple_of(10)
    }
}

impl FromStr for Gtin {
    type Err = GtinError;

    fn from_str(text: &str) -> Result<Self, GtinError> {
        let text = text.trim();
        if text.starts_with('-') || text.ends_with('-') {
            return Err(GtinError::NotDigits);
        }
        let mut digits = [0; DIGITS_MAX];
        let mut length = 0;
        for byte in text.bytes().filter(|byte| !matches!(byte, b' ' | b'-')) {
            if !byte.is_ascii_digit() {
                return Err(GtinError::NotDigits);
            }
            *digits.get_mut(length).ok_or(GtinError::Length)? = byte;
            length += 1;
        }
        let gtin = Self { digits, length };
        if !matches!(length, 8 | 12 | 13 | 14) {
            return Err(GtinError::Length);
        }
        if gtin.digits().iter().all(|digit| *digit == b'0') {
            return Err(GtinError::Zeros);
        }
        if gtin.has_valid_check_digit() { Ok(gtin) } else { Err(GtinError::CheckDigit) }
    }
}

impl fmt::Display for Gtin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Debug for Gtin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Gtin, GtinError> {
        text.parse()
    }

    fn valid(text: &str) -> Gtin {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// A number of a valid length with a valid check digit; not all zeros.
    fn any_gtin() -> impl Strategy<Value = String> {
        let body = prop_oneof![Just(7_usize), Just(11), Just(12), Just(13)]
            .prop_flat_map(|length| prop::collection::vec(0_u32..10, length));
        body.prop_filter("a number", |body| body.iter().any(|digit| *digit != 0)).prop_map(|body| {
            let weighted = body.iter().rev().zip([3, 1].into_iter().cycle());
            let sum: u32 = weighted.map(|(digit, weight)| digit * weight).sum();
            let digits = body.into_iter().chain([(10 - sum % 10) % 10]);
            digits.map(|digit| digit.to_string()).collect()
        })
    }

    #[test]
    fn numbers_printed_in_the_gs1_manual_are_gtins() {
        for text in ["6291041500213", "4006381333931", "036000291452", "96385074"] {
            assert_eq!(valid(text).as_str(), text);
        }
        assert_eq!(valid("10614141000415").to_14(), "10614141000415");
        assert_eq!(valid("96385074").to_14(), "00000096385074");
    }

    #[test]
    fn separators_are_removed() {
        assert_eq!(valid(" 978-3-16-148410-0 ").to_string(), "9783161484100");
        assert_eq!(valid("0 36000 29145 2").to_string(), "036000291452");
        assert_eq!(
            format!("{:>15}|{:?}", valid("96385074"), valid("96385074")),
            "       96385074|96385074"
        );
    }

    #[test]
    fn errors_name_the_violated_rule() {
        for (text, error) in [
            ("", GtinError::Length),
            ("-", GtinError::NotDigits),
            ("-96385074", GtinError::NotDigits),
            ("96385074-", GtinError::NotDigits),
            ("n/a", GtinError::NotDigits),
            ("629104150021X", GtinError::NotDigits),
            ("4.00638E+12", GtinError::NotDigits),
            ("٩٦٣٨٥٠٧٤", GtinError::NotDigits),
            ("9638507", GtinError::Length),
            ("963850742", GtinError::Length),
            ("629104150021300", GtinError::Length),
            ("6291041500214", GtinError::CheckDigit),
            ("00000000", GtinError::Zeros),
            ("0000-0000-0000-0", GtinError::Zeros),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn restricted_circulation_numbers_are_recognized() {
        for text in [
            "2012345678903", // weighed goods
            "2999999999991",
            "0212345678909", // a UPC with prefix 2, written with 13 digits
            "212345678909",
            "412345678903",
            "0412345678903",
            "12012345678900", // a case of a restricted number
            "00412345678903",
            "20123451",
            "01234565",
            "0000020123451", // a GTIN-8 written with 13 digits
        ] {
            assert!(valid(text).is_restricted(), "{text}");
        }
        for text in ["4006381333931", "036000291452", "96385074", "0000096385074", "10614141000415"]
        {
            assert!(!valid(text).is_restricted(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_valid_check_digit_is_accepted(text in any_gtin()) {
            let gtin = valid(&text);
            prop_assert_eq!(gtin.as_str(), &text);
            prop_assert_eq!(gtin.to_14().len(), 14);
            prop_assert_eq!(valid(&gtin.to_14()).is_restricted(), gtin.is_restricted());
        }

        #[test]
        fn every_wrong_digit_is_detected(text in any_gtin()) {
            for at in 0..text.len() {
                for digit in '0'..='9' {
                    let mut wrong = text.clone();
                    wrong.replace_range(at..=at, digit.encode_utf8(&mut [0; 4]));
                    prop_assert_eq!(wrong.parse::<Gtin>().is_ok(), wrong == text, "{}", wrong);
                }
            }
        }

        /// Swapping changes the sum by twice the difference, so that a difference of five is not detected.
        #[test]
        fn transposed_neighbours_are_detected(text in any_gtin()) {
            for at in 1..text.len() {
                let mut swapped = text.clone().into_bytes();
                swapped.swap(at - 1, at);
                let difference = swapped[at].abs_diff(swapped[at - 1]);
                let swapped = String::from_utf8(swapped).unwrap();
                prop_assert_eq!(swapped.parse::<Gtin>().is_ok(), difference % 5 == 0, "{}", swapped);
            }
        }
    }
}
