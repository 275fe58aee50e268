//! Reads lines up to the maximum size of a row.

use crate::limits::ROW_BYTES_MAX;
use crate::source::Source;

/// A line of a feed.
#[derive(Default)]
pub(crate) struct Line {
    /// Starts at 1.
    pub(crate) number: u64,
    /// Without the line ending, up to the maximum size.
    pub(crate) bytes: Vec<u8>,
    /// Whether a line ending follows; the last line of a file may have none.
    pub(crate) is_terminated: bool,
    /// Whether the line exceeds the maximum size.
    pub(crate) is_too_long: bool,
}

impl Line {
    /// Reads the next line into this one; returns false at the end.
    pub(crate) fn read(&mut self, source: &mut Source<'_>) -> bool {
        self.number = source.line();
        self.bytes.clear();
        (self.is_terminated, self.is_too_long) = (false, false);
        if source.peek().is_none() {
            return false;
        }
        while !self.is_terminated {
            let rest = source.rest();
            if rest.is_empty() {
                break;
            }
            let end = rest.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(rest.len());
            let room = ROW_BYTES_MAX - self.bytes.len();
            self.is_too_long |= length > room;
            self.bytes.extend_from_slice(&rest[..length.min(room)]);
            self.is_terminated = end.is_some();
            source.advance(length + usize::from(self.is_terminated));
        }
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        true
    }
}
