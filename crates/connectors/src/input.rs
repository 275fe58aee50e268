//! Turns the bytes of a file into UTF-8: gzip is decompressed, within limits, and other encodings are converted.

use std::cell::RefCell;
use std::io::{self, BufRead, Cursor, ErrorKind, Read};
use std::rc::Rc;

use catalog::{FeedFormat, FieldError};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use flate2::bufread::MultiGzDecoder;

use crate::{field_errors, kind};

/// Bytes from which compression and encoding are detected.
const HEAD_BYTES: u64 = 64 * 1024;
const GZIP: &[u8] = b"\x1f\x8b";
/// Most bytes of a file after it is decompressed.
const BYTES_MAX: u64 = 4 << 30;
/// Most bytes that one compressed byte may become, once a file is larger than `RATIO_BYTES_MIN`. Feeds compress to a tenth or a
/// fiftieth; deflate reaches a thousandth.
const RATIO_MAX: u64 = 250;
const RATIO_BYTES_MIN: u64 = 64 << 20;

/// What was found while a file was read.
#[derive(Default)]
pub(crate) struct Findings {
    /// The encoding from which the file is converted; `None` for UTF-8.
    pub(crate) encoding: Option<&'static Encoding>,
    /// Whether characters could not be converted.
    pub(crate) has_lost_characters: bool,
    /// Why reading failed, if the file itself is the reason.
    pub(crate) failure: Option<FieldError>,
}

pub(crate) type SharedFindings = Rc<RefCell<Findings>>;

/// Opens a file. The reader returns UTF-8, as far as the encoding is known.
pub(crate) fn open<'a>(
    format: FeedFormat,
    input: &'a mut dyn BufRead,
) -> (Box<dyn Read + 'a>, SharedFindings) {
    let findings = SharedFindings::default();
    let (head, rest) = head_of(Box::new(input));
    let plain: Box<dyn Read + 'a> = if head.starts_with(GZIP) {
        let compressed = Cursor::new(head).chain(rest);
        Box::new(Decompressed::new(compressed, BYTES_MAX, Rc::clone(&findings)))
    } else {
        Box::new(Cursor::new(head).chain(rest))
    };
    let (head, rest) = head_of(plain);
    let state = match declared_encoding(format, &head).filter(|_| !kind::is_binary(&head)) {
        Some(encoding) => {
            findings.borrow_mut().encoding = Some(encoding);
            State::Decoding(encoding.new_decoder_with_bom_removal())
        }
        // XML and JSON are UTF-8 unless they state otherwise; one wrong byte concerns its row alone.
        None if is_delimited(format) && !kind::is_binary(&head) => State::Undecided,
        None => State::Plain,
    };
    let text = Text {
        input: Cursor::new(head).chain(rest),
        state,
        output: Vec::new(),
        at: 0,
        is_ended: false,
        findings: Rc::clone(&findings),
    };
    (Box::new(text), findings)
}

fn is_delimited(format: FeedFormat) -> bool {
    matches!(format, FeedFormat::GoogleTsv | FeedFormat::ShopifyCsv | FeedFormat::Csv)
}

/// Reads the first bytes. After an error the rest repeats it.
fn head_of<'a>(mut input: Box<dyn Read + 'a>) -> (Vec<u8>, Box<dyn Read + 'a>) {
    let mut head = Vec::new();
    match input.by_ref().take(HEAD_BYTES).read_to_end(&mut head) {
        Ok(_) => (head, input),
        Err(error) => (head, Box::new(FailedRead(error.kind()))),
    }
}

struct FailedRead(ErrorKind);

impl Read for FailedRead {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(self.0.into())
    }
}

/// Returns the encoding that the byte order mark, the zero bytes of UTF-16 or the XML declaration state, unless it is UTF-8.
fn declared_encoding(format: FeedFormat, head: &[u8]) -> Option<&'static Encoding> {
    if let Some((encoding, _)) = Encoding::for_bom(head) {
        return (encoding != UTF_8).then_some(encoding);
    }
    if let Some(encoding) = utf16_without_mark(head) {
        return Some(encoding);
    }
    if format != FeedFormat::GoogleXml {
        return None;
    }
    let declaration = head.trim_ascii_start().strip_prefix(b"<?xml")?;
    let end = declaration.windows(2).position(|end| end == b"?>")?;
    let declaration = std::str::from_utf8(&declaration[..end]).ok()?;
    let label = declaration.split_once("encoding")?.1;
    let label = label.trim_start_matches([' ', '\t', '\r', '\n', '=', '"', '\'']);
    let label = label.split(['"', '\'']).next()?;
    let encoding = Encoding::for_label(label.as_bytes())?;
    // A file that can be read as far as here is not UTF-16, whatever it states.
    (encoding != UTF_8 && encoding != UTF_16LE && encoding != UTF_16BE).then_some(encoding)
}

/// Detects UTF-16 without a byte order mark: every second byte of its markup and header is zero.
fn utf16_without_mark(head: &[u8]) -> Option<&'static Encoding> {
    let pairs = head[..head.len().min(1_024)].chunks_exact(2);
    let count = pairs.len();
    let zeros = |index: usize| pairs.clone().filter(|pair| pair[index] == 0).count();
    let (first, second) = (zeros(0), zeros(1));
    match count {
        ..4 => None,
        _ if second * 10 > count * 6 && first * 20 < count => Some(UTF_16LE),
        _ if first * 10 > count * 6 && second * 20 < count => Some(UTF_16BE),
        _ => None,
    }
}

struct CountedRead<R> {
    input: R,
    count: Rc<RefCell<u64>>,
}

impl<R: Read> Read for CountedRead<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(buffer)?;
        *self.count.borrow_mut() += length as u64;
        Ok(length)
    }
}

/// A gzip file, decompressed within limits.
struct Decompressed<R> {
    input: MultiGzDecoder<R>,
    compressed_bytes: Rc<RefCell<u64>>,
    bytes: u64,
    bytes_max: u64,
    findings: SharedFindings,
}

impl<R: Read> Decompressed<io::BufReader<CountedRead<R>>> {
    fn new(input: R, bytes_max: u64, findings: SharedFindings) -> Self {
        let compressed = CountedRead { input, count: Rc::default() };
        let compressed_bytes = Rc::clone(&compressed.count);
        let input = MultiGzDecoder::new(io::BufReader::new(compressed));
        Self { input, compressed_bytes, bytes: 0, bytes_max, findings }
    }
}

impl<R: BufRead> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let failure = match self.input.read(buffer) {
            Ok(length) => {
                self.bytes += length as u64;
                let ratio_bytes = self.compressed_bytes.borrow().saturating_mul(RATIO_MAX);
                if self.bytes > self.bytes_max {
                    field_errors::decompressed_too_large(self.bytes_max)
                } else if self.bytes > RATIO_BYTES_MIN && self.bytes > ratio_bytes {
                    field_errors::compressed_too_much()
                } else {
                    return Ok(length);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(_) => field_errors::damaged_gzip(),
        };
        self.findings.borrow_mut().failure.get_or_insert(failure);
        Err(ErrorKind::InvalidData.into())
    }
}

/// How the bytes of a file become text.
enum State {
    /// They are passed on.
    Plain,
    /// They were ASCII so far.
    Undecided,
    Decoding(Decoder),
}

/// A file, converted to UTF-8.
struct Text<R> {
    input: R,
    state: State,
    /// Unread text, from `at`.
    output: Vec<u8>,
    at: usize,
    is_ended: bool,
    findings: SharedFindings,
}

impl<R: Read> Text<R> {
    /// Reads and converts a part of the file; leaves the output empty at the end.
    fn fill(&mut self) -> io::Result<()> {
        self.output.clear();
        self.at = 0;
        let mut bytes = Vec::new();
        while self.output.is_empty() && !self.is_ended {
            let is_end = self.read_part(&mut bytes)?;
            if matches!(self.state, State::Undecided) && !bytes.is_ascii() {
                self.decide(&mut bytes)?;
            }
            match &mut self.state {
                State::Decoding(decoder) => {
                    let lost = decode(decoder, &bytes, is_end, &mut self.output);
                    self.findings.borrow_mut().has_lost_characters |= lost;
                }
                State::Plain | State::Undecided => std::mem::swap(&mut self.output, &mut bytes),
            }
            self.is_ended = is_end;
        }
        Ok(())
    }

    /// Replaces the bytes by the next ones; returns whether there are none.
    fn read_part(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        bytes.clear();
        Ok(self.input.by_ref().take(HEAD_BYTES).read_to_end(bytes)? == 0)
    }

    /// Decides on the encoding at the first bytes that are not ASCII.
    fn decide(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        // The first character that is not ASCII may be cut at the end of the part.
        self.input.by_ref().take(4).read_to_end(bytes)?;
        let valid = match std::str::from_utf8(bytes) {
            Ok(_) => bytes.len(),
            Err(error) => error.valid_up_to(),
        };
        // With a valid character of UTF-8 it is UTF-8, and an invalid byte concerns its row.
        if !bytes[..valid].is_ascii() {
            self.state = State::Plain;
            return Ok(());
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(bytes, false);
        let encoding = detector.guess(None, Utf8Detection::Deny);
        self.findings.borrow_mut().encoding = Some(encoding);
        self.state = State::Decoding(encoding.new_decoder_without_bom_handling());
        Ok(())
    }
}

/// Appends decoded bytes; returns whether characters were lost.
fn decode(decoder: &mut Decoder, mut bytes: &[u8], is_end: bool, output: &mut Vec<u8>) -> bool {
    let mut has_lost = false;
    let mut buffer = [0; 8 * 1024];
    loop {
        let (result, read, written, lost) = decoder.decode_to_utf8(bytes, &mut buffer, is_end);
        output.extend_from_slice(&buffer[..written]);
        bytes = &bytes[read..];
        has_lost |= lost;
        if matches!(result, CoderResult::InputEmpty) {
            return has_lost;
        }
    }
}

impl<R: Read> Read for Text<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.output.len() {
            self.fill()?;
        }
        let mut rest = &self.output[self.at..];
        let length = rest.read(buffer)?;
        self.at += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn decompression_is_limited() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&b"{\"external_id\":\"a\"}\n".repeat(5_000)).expect("memory");
        let file = encoder.finish().expect("memory");
        for (bytes_max, is_within) in [(100_000, true), (50_000, false)] {
            let findings = SharedFindings::default();
            let mut input = Decompressed::new(&file[..], bytes_max, Rc::clone(&findings));
            let mut bytes = Vec::new();
            assert_eq!(input.read_to_end(&mut bytes).is_ok(), is_within);
            assert!(bytes.len() as u64 <= bytes_max);
            let failure = findings.borrow_mut().failure.take();
            let is_named = |error: &FieldError| error.reason.contains("more than 50000 bytes");
            assert_eq!(failure.as_ref().map(is_named), (!is_within).then_some(true));
        }
    }
}
