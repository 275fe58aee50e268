//! Rows of delimited text under a header. csv-core does the reading; the buffers are ours, so that a
//! field of any size passes by without being kept.

use std::collections::HashSet;

use catalog::Fault;
use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::fault;
use crate::limit::ROW_BYTES_MAX;
use crate::source::Source;

/// More columns than any export has.
const FIELDS_MAX: usize = 4_096;

/// Delimited text whose first row names its columns.
pub(crate) struct Sheet {
    core: Reader,
    header: Vec<String>,
    record: Record,
}

#[derive(Default)]
struct Record {
    line: u64,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    kept: usize,
    quotes: usize,
    is_ended: bool,
    is_too_long: bool,
}

/// A row under the header.
pub(crate) struct Row<'r> {
    header: &'r [String],
    record: &'r Record,
}

impl Sheet {
    /// Reads the header; `name` makes a column's name comparable. None if it is cut or names none of
    /// the columns that are needed.
    pub(crate) fn open(
        source: &mut Source<'_>,
        delimiter: u8,
        name: fn(&str) -> String,
        needed: &[&str],
    ) -> Result<Self, Fault> {
        let core = ReaderBuilder::new().delimiter(delimiter).build();
        let mut sheet = Self { core, header: Vec::new(), record: Record::default() };
        if !sheet.advance(source) || !sheet.record.is_ended {
            return Err(fault::truncated());
        }
        let fields = sheet.record.fields();
        sheet.header = fields.map(|field| name(&String::from_utf8_lossy(field))).collect();
        let has_needed = sheet.header.iter().any(|column| needed.contains(&column.as_str()));
        if has_needed && !sheet.record.is_too_long {
            return Ok(sheet);
        }
        Err(fault::unreadable_file(
            "The first row does not name the columns of this format. \
             Check the format, the delimiter and the header row.",
        ))
    }

    /// The next row; none at the end.
    pub(crate) fn next(&mut self, source: &mut Source<'_>) -> Option<Row<'_>> {
        self.advance(source).then_some(Row { header: &self.header, record: &self.record })
    }

    /// Reads the next record; false at the end.
    fn advance(&mut self, source: &mut Source<'_>) -> bool {
        while matches!(source.peek(), Some(b'\r' | b'\n')) {
            source.take();
        }
        self.record.begin(source.line());
        loop {
            let rest = source.rest();
            let is_end = rest.is_empty();
            let (result, read) = self.record.take(&mut self.core, rest);
            source.pass(read);
            match result {
                ReadRecordResult::Record => {
                    self.record.is_ended = !is_end;
                    return true;
                }
                ReadRecordResult::End => return false,
                _ => {}
            }
        }
    }
}

impl Record {
    fn begin(&mut self, line: u64) {
        let buffers = (std::mem::take(&mut self.bytes), std::mem::take(&mut self.ends));
        *self = Self { line, bytes: buffers.0, ends: buffers.1, ..Self::default() };
        self.ends.clear();
    }

    /// Lets the reader work on some input; answers what came of it and how much was read.
    fn take(&mut self, core: &mut Reader, input: &[u8]) -> (ReadRecordResult, usize) {
        let mut ends = [0; 64];
        let mut passing = [0; 4_096];
        let room = if self.is_too_long {
            &mut passing
        } else {
            let wanted = (self.kept + passing.len()).min(ROW_BYTES_MAX);
            if self.bytes.len() < wanted {
                self.bytes.resize(wanted, 0);
            }
            &mut self.bytes[self.kept..]
        };
        let (result, read, written, fields) = core.read_record(input, room, &mut ends);
        self.quotes += input[..read].split(|byte| *byte == b'"').count() - 1;
        if !self.is_too_long {
            self.kept += written;
            self.ends.extend_from_slice(&ends[..fields]);
            let is_full = matches!(result, ReadRecordResult::OutputFull);
            self.is_too_long =
                is_full && self.kept >= ROW_BYTES_MAX || self.ends.len() > FIELDS_MAX;
        }
        (result, read)
    }

    fn fields(&self) -> impl Iterator<Item = &[u8]> {
        let mut begin = 0;
        self.ends.iter().map(move |end| {
            let field = self.bytes.get(begin..*end).unwrap_or_default();
            begin = *end;
            field
        })
    }
}

impl<'r> Row<'r> {
    /// Where it begins.
    pub(crate) fn line(&self) -> u64 {
        self.record.line
    }

    /// Whether the header names this column.
    pub(crate) fn has_column(&self, name: &str) -> bool {
        self.header.iter().any(|column| column == name)
    }

    /// How much of it is kept.
    pub(crate) fn bytes(&self) -> usize {
        self.record.kept
    }

    /// Whether a line end follows. The last row may have none, and may then be cut.
    pub(crate) fn is_ended(&self) -> bool {
        self.record.is_ended
    }

    /// Whether the file ends within this row.
    pub(crate) fn is_cut(&self) -> bool {
        let has_open_quote = self.record.quotes % 2 == 1;
        !self.is_ended()
            && (has_open_quote
                || self.record.ends.len() < self.header.len()
                || self.fault().is_some())
    }

    /// Why it cannot be read, if so.
    pub(crate) fn fault(&self) -> Option<Fault> {
        if self.record.is_too_long {
            return Some(fault::too_long());
        }
        if self.record.fields().any(|field| std::str::from_utf8(field).is_err()) {
            return Some(fault::not_utf8());
        }
        let beyond = self.record.fields().skip(self.header.len());
        if beyond.into_iter().any(|field| !field.trim_ascii().is_empty()) {
            return Some(fault::unreadable(
                "The row has more fields than the header. Put fields that hold a delimiter in quotes.",
            ));
        }
        None
    }

    /// The columns that hold something, in their order. Where two have one name, the first counts.
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
