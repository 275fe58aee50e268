//! Reads the bytes of a feed through a buffer, and counts lines.

use std::io::{ErrorKind, Read};

use catalog::FieldError;

use crate::field_errors;
use crate::input::SharedFindings;

const BUFFER_BYTES: usize = 64 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The input of a reader.
pub(crate) struct Source<'a> {
    input: Box<dyn Read + 'a>,
    /// Unread bytes are those from `at` to `end`.
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    line: u64,
    has_failed: bool,
    findings: SharedFindings,
}

impl<'a> Source<'a> {
    /// Wraps an input and skips the UTF-8 byte order mark.
    pub(crate) fn new(mut input: Box<dyn Read + 'a>, findings: SharedFindings) -> Self {
        let mut beginning = Vec::new();
        let length = BYTE_ORDER_MARK.len() as u64;
        let has_failed = input.by_ref().take(length).read_to_end(&mut beginning).is_err();
        if beginning == BYTE_ORDER_MARK {
            beginning.clear();
        }
        let length = BUFFER_BYTES - beginning.len();
        // The first bytes as a whole, from which the kind of the file and the separator are detected.
        let has_failed =
            has_failed || input.by_ref().take(length as u64).read_to_end(&mut beginning).is_err();
        let end = beginning.len();
        beginning.resize(BUFFER_BYTES, 0);
        Self { input, buffer: beginning, at: 0, end, line: 1, has_failed, findings }
    }

    /// Whether the file was converted from another encoding.
    pub(crate) fn is_converted(&self) -> bool {
        self.findings.borrow().encoding.is_some()
    }

    /// Returns why the file ends here.
    pub(crate) fn truncation(&self) -> FieldError {
        let failure = self.findings.borrow().failure.clone();
        failure.unwrap_or_else(field_errors::truncated)
    }

    /// Returns the line of the next byte, starting at 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
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
