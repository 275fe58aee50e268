//! Reads delimited text with a header. It uses csv-core with its own buffers, so that fields of any size
//! can be skipped without being buffered.

use std::collections::HashSet;

use catalog::FieldError;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::field_errors;
use crate::limits::ROW_BYTES_MAX;
use crate::source::Source;

/// Maximum number of columns.
const FIELDS_MAX: usize = 4_096;

/// A reader of delimited text whose first row names the columns.
pub(crate) struct DelimitedReader {
    core: Reader,
    header: Vec<String>,
    record: Record,
}

#[derive(Default)]
struct Record {
    line: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Number of buffered bytes.
    length: usize,
    quotes: usize,
    is_terminated: bool,
    is_too_long: bool,
}

/// A row below the header.
pub(crate) struct Row<'r> {
    header: &'r [String],
    record: &'r Record,
}

impl DelimitedReader {
    /// Reads the header; `normalize` is applied to column names. The separator is the one of the header, or
    /// `delimiter` if that is not clear. Fails if the header is truncated or lacks the required column.
    pub(crate) fn open(
        source: &mut Source<'_>,
        delimiter: u8,
        normalize: fn(&str) -> String,
        required: Option<&'static str>,
    ) -> Result<Self, FieldError> {
        let delimiter = detect_delimiter(source.rest(), delimiter, normalize, required);
        let core = ReaderBuilder::new().delimiter(delimiter).build();
        let mut reader = Self { core, header: Vec::new(), record: Record::default() };
        if !reader.advance(source) || !reader.record.is_terminated {
            return Err(source.truncation());
        }
        let fields = reader.record.fields();
        reader.header = fields.map(|field| normalize(&String::from_utf8_lossy(field))).collect();
        if reader.record.is_too_long {
            return Err(field_errors::row_too_long());
        }
        match required {
            Some(required) if !reader.header.iter().any(|column| column == required) => {
                Err(field_errors::missing_column(required, &reader.header))
            }
            _ => Ok(reader),
        }
    }

    /// Returns the normalized names of the columns.
    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// Returns the next row, or `None` at the end.
    pub(crate) fn next(&mut self, source: &mut Source<'_>) -> Option<Row<'_>> {
        self.advance(source).then_some(Row { header: &self.header, record: &self.record })
    }

    /// Reads the next record; returns false at the end.
    fn advance(&mut self, source: &mut Source<'_>) -> bool {
        while matches!(source.peek(), Some(b'\r' | b'\n')) {
            source.take();
        }
        self.record.reset(source.line());
        loop {
            let rest = source.rest();
            let is_end = rest.is_empty();
            let (result, read) = self.record.take(&mut self.core, rest);
            source.advance(read);
            match result {
                ReadRecordResult::Record => {
                    self.record.is_terminated = !is_end;
                    return true;
                }
                ReadRecordResult::End => return false,
                _ => {}
            }
        }
    }
}

/// Separators of columns, the usual ones first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// Returns the separator with which the header has the required column, or else the most columns.
fn detect_delimiter(
    head: &[u8],
    usual: u8,
    normalize: fn(&str) -> String,
    required: Option<&str>,
) -> u8 {
    let head = head.trim_ascii_start();
    let line = head.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or(head);
    let line = String::from_utf8_lossy(line);
    let rank = |delimiter: u8| {
        let mut is_quoted = false;
        let mut columns = vec![String::new()];
        for letter in line.chars() {
            match letter {
                '"' => is_quoted = !is_quoted,
                letter if letter == char::from(delimiter) && !is_quoted => {
                    columns.push(String::new());
                }
                letter => columns.last_mut().into_iter().for_each(|column| column.push(letter)),
            }
        }
        let has = |required| columns.iter().any(|column| normalize(column) == required);
        (required.is_some_and(has), columns.len(), delimiter == usual)
    };
    DELIMITERS.into_iter().max_by_key(|delimiter| rank(*delimiter)).unwrap_or(usual)
}

impl Record {
    fn reset(&mut self, line: u64) {
        let buffers = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.ends));
        *self = Self { line, bytes: buffers.0, ends: buffers.1, ..Self::default() };
        self.ends.clear();
    }

    /// Parses some input; returns the result and the number of bytes consumed.
    fn take(&mut self, core: &mut Reader, input: &[u8]) -> (ReadRecordResult, usize) {
        let mut ends = [0; 64];
        let mut discarded = [0; 4_096];
        let output = if self.is_too_long {
            &mut discarded
        } else {
            let capacity = (self.length + discarded.len()).min(ROW_BYTES_MAX);
            if self.bytes.len() < capacity {
                self.bytes.resize(capacity, 0);
            }
            &mut self.bytes[self.length..]
        };
        let (result, read, written, fields) = core.read_record(input, output, &mut ends);
        self.quotes += input[..read].split(|byte| *byte == b'"').count() - 1;
        if !self.is_too_long {
            self.length += written;
            self.ends.extend_from_slice(&ends[..fields]);
            let is_full = matches!(result, ReadRecordResult::OutputFull);
            self.is_too_long =
                is_full && self.length >= ROW_BYTES_MAX || self.ends.len() > FIELDS_MAX;
        }
        (result, read)
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let field = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            field
        })
    }
}

impl<'r> Row<'r> {
    /// Returns the line on which the row starts.
    pub(crate) fn line(&self) -> u64 {
        self.record.line
    }

    /// Whether the header names this column.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.header.iter().any(|column| column == name)
    }

    /// Returns the number of buffered bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.record.length
    }

    /// Whether a line ending follows. The last row may have none, and may then be truncated.
    pub(crate) fn is_terminated(&self) -> bool {
        self.record.is_terminated
    }

    /// Whether the row has fewer fields than the header.
    pub(crate) fn is_short(&self) -> bool {
        self.record.ends.len() < self.header.len()
    }

    /// Whether the file ends within this row.
    pub(crate) fn is_truncated(&self) -> bool {
        let has_open_quote = self.record.quotes % 2 == 1;
        !self.is_terminated()
            && (has_open_quote
                || self.record.ends.len() < self.header.len()
                || self.error().is_some())
    }

    /// Returns why the row cannot be read, or `None` if it can.
    pub(crate) fn error(&self) -> Option<FieldError> {
        if self.record.is_too_long {
            return Some(field_errors::row_too_long());
        }
        if self.record.fields().any(|field| std::str::from_utf8(field).is_err()) {
            return Some(field_errors::row_not_utf8());
        }
        let extra = self.record.fields().skip(self.header.len());
        if extra.into_iter().any(|field| !field.trim_ascii().is_empty()) {
            return Some(field_errors::unreadable_row(
                "The row has more fields than the header. Quote fields that contain the delimiter.",
            ));
        }
        None
    }

    /// Returns the non-empty cells in order. If two columns have the same name, the first is used.
    pub(crate) fn cells(&self) -> Vec<(&'r str, &'r str)> {
        let mut seen = HashSet::new();
        let mut cells = Vec::new();
        for (name, field) in self.header.iter().zip(self.record.fields()) {
            let Ok(value) = std::str::from_utf8(field) else { continue };
            let value = value.trim();
            if !value.is_empty() && seen.insert(name.as_str()) {
                cells.push((name.as_str(), value));
            }
        }
        cells
    }
}
