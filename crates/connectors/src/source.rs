//! The bytes of a feed, a piece at a time, with the line they stand on.

use std::io::{BufRead, ErrorKind, Read as _};

const PIECE_BYTES: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Source<'a> {
    input: &'a mut dyn BufRead,
    /// Holds bytes from `at` to `end`.
    piece: Vec<u8>,
    at: usize,
    end: usize,
    line: u64,
    is_utf16: bool,
    has_failed: bool,
}

impl<'a> Source<'a> {
    /// The bytes of an input, without the mark that says they are UTF-8.
    pub(crate) fn new(input: &'a mut dyn BufRead) -> Self {
        let mut beginning = Vec::new();
        let length = BYTE_ORDER_MARK.len() as u64;
        let has_failed = input.take(length).read_to_end(&mut beginning).is_err();
        let is_utf16 = beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff");
        let end = beginning.len();
        let at = if beginning == BYTE_ORDER_MARK { end } else { 0 };
        beginning.resize(PIECE_BYTES, 0);
        Self { input, piece: beginning, at, end, line: 1, is_utf16, has_failed }
    }

    /// The line of the next byte, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Whether it begins like UTF-16, which no format here is written in.
    pub(crate) fn is_utf16(&self) -> bool {
        self.is_utf16
    }

    /// Whether the input failed before its end: what was read is then a file that was cut.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The bytes at hand; none at the end, or where the input failed.
    pub(crate) fn rest(&mut self) -> &[u8] {
        while self.at == self.end && !self.has_failed {
            match self.input.read(&mut self.piece) {
                Ok(0) => break,
                Ok(length) => (self.at, self.end) = (0, length),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.has_failed = true,
            }
        }
        &self.piece[self.at..self.end]
    }

    /// Passes over bytes that were at hand.
    pub(crate) fn pass(&mut self, count: usize) {
        let end = (self.at + count).min(self.end);
        let lines = self.piece[self.at..end].split(|byte| *byte == b'\n').count() - 1;
        self.line += lines as u64;
        self.at = end;
    }

    /// The next byte, which stays.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        if self.at < self.end {
            return self.piece.get(self.at).copied();
        }
        self.rest().first().copied()
    }

    /// The next byte.
    pub(crate) fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += u64::from(byte == b'\n');
        Some(byte)
    }
}
