//! The memory that JSON takes once it is parsed.

/// Estimates the memory that JSON takes as a [`serde_json::Value`], from its text and without parsing it. An object of
/// seven bytes (`{"":0},`) takes a hundred times as much once it is parsed.
///
/// Structure inside strings counts too, so that the estimate can be too high, and never far too low.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ParsedSize {
    bytes: usize,
    objects: usize,
    arrays: usize,
    separators: usize,
}

impl ParsedSize {
    /// An object that is not empty has a B-tree node with room for eleven fields.
    const OBJECT_BYTES: usize = 704;
    /// An array that is not empty has room for four values.
    const ARRAY_BYTES: usize = 192;
    /// A further field or value.
    const SEPARATOR_BYTES: usize = 96;

    /// Returns the size of a text.
    #[must_use]
    pub fn of(text: &[u8]) -> Self {
        let mut size = Self::default();
        size.add(text);
        size
    }

    /// Adds the next part of a text.
    pub fn add(&mut self, part: &[u8]) {
        self.bytes += part.len();
        for byte in part {
            match byte {
                b'{' => self.objects += 1,
                b'[' => self.arrays += 1,
                b',' => self.separators += 1,
                _ => {}
            }
        }
    }

    /// Returns the estimate, in bytes.
    #[must_use]
    pub const fn estimate(self) -> usize {
        self.bytes
            + self.objects * Self::OBJECT_BYTES
            + self.arrays * Self::ARRAY_BYTES
            + self.separators * Self::SEPARATOR_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structure_costs_more_than_text() {
        let text = format!("{:?}", "a".repeat(1_000));
        assert_eq!(ParsedSize::of(text.as_bytes()).estimate(), 1_002);
        let objects = r#"{"":0},"#.repeat(1_000);
        assert_eq!(ParsedSize::of(objects.as_bytes()).estimate(), 7_000 + 704_000 + 96_000);
        let mut parts = ParsedSize::default();
        objects.as_bytes().chunks(13).for_each(|part| parts.add(part));
        assert_eq!(parts, ParsedSize::of(objects.as_bytes()));
    }
}
