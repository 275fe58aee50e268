//! The bytes of a feed, a piece at a time, with the line they stand on.

use std::io::{BufRead, ErrorKind, Read as _};

const PIECE_BYTES: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(crate) struct Source<'a> {
    input: &'a mut dyn BufRead,
    piece: Vec<u8>,
    at: usize,
    line: u64,
    has_failed: bool,
}

impl<'a> Source<'a> {
    /// The bytes of an input, without the mark that says they are UTF-8.
    pub(crate) fn new(input: &'a mut dyn BufRead) -> Self {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let mut beginning = input.take(BYTE_ORDER_MARK.len() as u64);
        let has_failed = beginning.read_to_end(&mut piece).is_err();
        let at = if piece == BYTE_ORDER_MARK { piece.len() } else { 0 };
        Self { input, piece, at, line: 1, has_failed }
    }

    /// The line of the next byte, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Whether the input failed before its end: what was read is then a file that was cut.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The bytes at hand; none at the end, or where the input failed.
    pub(crate) fn rest(&mut self) -> &[u8] {
        while self.at == self.piece.len() {
            if self.has_failed {
                return &[];
            }
            self.piece.resize(PIECE_BYTES, 0);
            self.at = 0;
            match self.input.read(&mut self.piece) {
                Ok(0) => self.piece.clear(),
                Ok(length) => self.piece.truncate(length),
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    self.piece.clear();
                    continue;
                }
                Err(_) => {
                    self.piece.clear();
                    self.has_failed = true;
                }
            }
            if self.piece.is_empty() {
                return &[];
            }
        }
        &self.piece[self.at..]
    }

    /// Passes over bytes that were at hand.
    pub(crate) fn pass(&mut self, count: usize) {
        let end = (self.at + count).min(self.piece.len());
        let passed = &self.piece[self.at..end];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.at = end;
    }

    /// The next byte, which stays.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        match self.piece.get(self.at) {
            Some(byte) => Some(*byte),
            None => self.rest().first().copied(),
        }
    }

    /// The next byte.
    pub(crate) fn take(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        self.line += u64::from(byte == b'\n');
        Some(byte)
    }

    /// Whether it begins like UTF-16, which no format here is written in.
    pub(crate) fn is_utf16(&self) -> bool {
        self.piece.starts_with(b"\xff\xfe") || self.piece.starts_with(b"\xfe\xff")
    }
}
