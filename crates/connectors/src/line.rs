//! Lines, of which no more than a row may hold is kept.

use crate::fault::ROW_BYTES_MAX;
use crate::source::Source;

#[derive(Default)]
pub(crate) struct Line {
    /// From 1.
    pub(crate) number: u64,
    /// Without its end.
    pub(crate) bytes: Vec<u8>,
    /// Whether it has an end. The last one of a file may have none.
    pub(crate) is_ended: bool,
    /// Whether there was more than is kept.
    pub(crate) is_too_long: bool,
}

impl Line {
    /// Reads the next line in place of this one; false at the end.
    pub(crate) fn read(&mut self, source: &mut Source<'_>) -> bool {
        self.number = source.line();
        self.bytes.clear();
        (self.is_ended, self.is_too_long) = (false, false);
        if source.peek().is_none() {
            return false;
        }
        while !self.is_ended {
            let rest = source.rest();
            if rest.is_empty() {
                break;
            }
            let end = rest.iter().position(|byte| *byte == b'\n');
            let length = end.unwrap_or(rest.len());
            let room = ROW_BYTES_MAX - self.bytes.len();
            self.is_too_long |= length > room;
            self.bytes.extend_from_slice(&rest[..length.min(room)]);
            self.is_ended = end.is_some();
            source.pass(length + usize::from(self.is_ended));
        }
        if self.bytes.last() == Some(&b'\r') {
            self.bytes.pop();
        }
        true
    }
}
