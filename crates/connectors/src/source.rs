//! Reads the bytes of a feed through a buffer, and counts lines.

use std::io::{BufRead, ErrorKind, Read as _};

const BUFFER_BYTES: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The input of a reader.
pub(crate) struct Source<'a> {
    input: &'a mut dyn BufRead,
    /// Unread bytes are those from `at` to `end`.
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    line: u64,
    is_utf16: bool,
    has_failed: bool,
}

impl<'a> Source<'a> {
    /// Wraps an input and skips the UTF-8 byte order mark.
    pub(crate) fn new(input: &'a mut dyn BufRead) -> Self {
        let mut beginning = Vec::new();
        let length = BYTE_ORDER_MARK.len() as u64;
        let has_failed = input.take(length).read_to_end(&mut beginning).is_err();
        let is_utf16 = beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff");
        let end = beginning.len();
        let at = if beginning == BYTE_ORDER_MARK { end } else { 0 };
        beginning.resize(BUFFER_BYTES, 0);
        Self { input, buffer: beginning, at, end, line: 1, is_utf16, has_failed }
    }

    /// Returns the line of the next byte, starting at 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Whether the input starts with a UTF-16 byte order mark; no format uses UTF-16.
    pub(crate) fn is_utf16(&self) -> bool {
        self.is_utf16
    }

    /// Whether reading failed; the file is then truncated.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Returns the buffered bytes; empty at the end and after a failure.
    pub(crate) fn rest(&mut self) -> &[u8] {
        while self.at == self.end && !self.has_failed {
            match self.input.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(length) => (self.at, self.end) = (0, length),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.has_failed = true,
            }
        }
        &self.buffer[self.at..self.end]
    }

    /// Skips buffered bytes.
    pub(crate) fn advance(&mut self, count: usize) {
        let end = (self.at + count).min(self.end);
        let lines = self.buffer[self.at..end].split(|byte| *byte == b'\n').count() - 1;
        self.line += lines as u64;
        self.at = end;
    }

    /// Returns the next byte without consuming it.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        if self.at < self.end {
            return self.buffer.get(self.at).copied();
        }
        self.rest().first().copied()
    }

    /// Consumes and returns the next byte.
    pub(crate) fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += u64::from(byte == b'\n');
        Some(byte)
    }
}
