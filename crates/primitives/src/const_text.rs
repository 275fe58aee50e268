//! Texts that contain a constant, built at compile time.

/// Builds a `&'static str` from texts and constant numbers, so that a description repeats no number of a rule.
///
/// A number is a name or an expression in parentheses.
///
/// ```
/// const LINES_MAX: usize = 50;
/// const TEXT: &str = primitives::const_text!("1 to ", LINES_MAX, " lines, ", (60 * 2), " seconds");
/// assert_eq!(TEXT, "1 to 50 lines, 120 seconds");
/// ```
#[macro_export]
macro_rules! const_text {
    (@part $text:literal) => { $crate::private::TextPart::Text($text) };
    (@part $number:tt) => { $crate::private::TextPart::Number($number as u64) };
    ($($part:tt),+ $(,)?) => {{
        const PARTS: &[$crate::private::TextPart] = &[$($crate::const_text!(@part $part)),+];
        const BYTES: [u8; $crate::private::text_length(PARTS)] = $crate::private::text_bytes(PARTS);
        const TEXT: &str = match ::core::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("the parts are not UTF-8"),
        };
        TEXT
    }};
}

/// A part of a [`const_text!`](crate::const_text).
#[derive(Debug, Clone, Copy)]
pub enum TextPart {
    Text(&'static str),
    Number(u64),
}

/// Returns the number of bytes of the parts.
#[must_use]
pub const fn text_length(parts: &[TextPart]) -> usize {
    let (mut length, mut index) = (0, 0);
    while index < parts.len() {
        length += match parts[index] {
            TextPart::Text(text) => text.len(),
            TextPart::Number(number) => digits(number),
        };
        index += 1;
    }
    length
}

/// Returns the bytes of the parts, which are `N`.
#[must_use]
pub const fn text_bytes<const N: usize>(parts: &[TextPart]) -> [u8; N] {
    let mut bytes = [0; N];
    let (mut length, mut index) = (0, 0);
    while index < parts.len() {
        match parts[index] {
            TextPart::Text(text) => {
                let mut position = 0;
                while position < text.len() {
                    bytes[length + position] = text.as_bytes()[position];
                    position += 1;
                }
                length += text.len();
            }
            TextPart::Number(number) => {
                let (mut rest, mut position) = (number, digits(number));
                length += position;
                while position > 0 {
                    bytes[length - (digits(number) - position) - 1] = DIGITS[(rest % 10) as usize];
                    rest /= 10;
                    position -= 1;
                }
            }
        }
        index += 1;
    }
    bytes
}

const DIGITS: [u8; 10] = *b"0123456789";

const fn digits(number: u64) -> usize {
    let (mut rest, mut digits) = (number / 10, 1);
    while rest > 0 {
        rest /= 10;
        digits += 1;
    }
    digits
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_of_any_length_are_part_of_the_text() {
        const ZERO: u32 = 0;
        const LARGE: u64 = u64::MAX;
        assert_eq!(const_text!("", ZERO), "0");
        assert_eq!(const_text!("a ", ZERO, " – ", LARGE, " b"), format!("a 0 – {LARGE} b"));
        assert_eq!(const_text!((7 * 100), "/", (10)), "700/10");
    }
}
