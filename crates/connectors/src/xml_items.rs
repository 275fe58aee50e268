//! Splits an XML feed into its items. An XML parser stops at the first error of a file and buffers texts
//! of any size; here one invalid item must not affect the others. So items are found by their tags, and
//! each is parsed on its own.

use crate::limits::ROW_BYTES_MAX;
use crate::source::Source;

/// Maximum length of a tag name that is compared.
const NAME_BYTES_MAX: usize = 64;

/// The content between the tags of an item.
#[derive(Debug)]
pub(crate) struct XmlItem {
    /// Line of the start tag.
    pub(crate) line: u64,
    /// Up to the maximum size of a row.
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_too_long: bool,
    /// Whether it has an end tag.
    pub(crate) is_closed: bool,
}

/// How a feed ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the end tag of the root element.
    Complete,
    /// Before the end tag of the root element.
    Truncated,
    /// The XML declaration names an encoding other than UTF-8.
    UnsupportedEncoding,
}

/// Reads the items of a feed one by one.
pub(crate) struct XmlItems<'s, 'a> {
    source: &'s mut Source<'a>,
    root: Vec<u8>,
    is_root_closed: bool,
    has_unsupported_encoding: bool,
    item: Option<XmlItem>,
    item_name: Vec<u8>,
    /// Name of the last tag.
    name: Vec<u8>,
}

/// A kind of markup.
enum Markup {
    Start,
    Empty,
    End,
    /// Comments, CDATA, declarations and a `<` that starts no markup.
    Other,
}

impl<'s, 'a> XmlItems<'s, 'a> {
    pub(crate) fn new(source: &'s mut Source<'a>) -> Self {
        Self {
            source,
            root: Vec::new(),
            is_root_closed: false,
            has_unsupported_encoding: false,
            item: None,
            item_name: Vec::new(),
            name: Vec::new(),
        }
    }

    /// Returns the current line.
    pub(crate) fn line(&self) -> u64 {
        self.source.line()
    }

    /// Returns why the file ends here.
    pub(crate) fn truncation(&self) -> catalog::FieldError {
        self.source.truncation()
    }

    /// Returns the next item, or how the feed ended.
    pub(crate) fn next(&mut self) -> Result<XmlItem, End> {
        loop {
            let line = self.find_markup().ok_or(self.end())?;
            let content_end =
                self.item.as_ref().map_or(0, |item| item.bytes.len().saturating_sub(1));
            let markup = self.markup().ok_or(self.end())?;
            if self.has_unsupported_encoding {
                return Err(End::UnsupportedEncoding);
            }
            if let Some(item) = self.step(&markup, line, content_end) {
                return Ok(item);
            }
        }
    }

    fn end(&self) -> End {
        if self.is_root_closed && !self.source.has_failed() {
            End::Complete
        } else {
            End::Truncated
        }
    }

    /// Applies markup to the open item, and returns an item that ends. `content_end` is the end of the
    /// content of the open item if this markup closes it.
    fn step(&mut self, markup: &Markup, line: u64, content_end: usize) -> Option<XmlItem> {
        let is_item = matches!(local(&self.name), b"item" | b"entry");
        match markup {
            Markup::Start | Markup::Empty if is_item => {
                let previous = self.close(content_end, false);
                let new = XmlItem { line, bytes: Vec::new(), is_too_long: false, is_closed: true };
                if matches!(markup, Markup::Empty) {
                    // An empty item after an unclosed one is dropped.
                    return previous.or(Some(new));
                }
                self.item = Some(new);
                self.item_name.clone_from(&self.name);
                previous
            }
            Markup::Start if self.root.is_empty() => {
                self.root.clone_from(&self.name);
                None
            }
            Markup::End if self.name == self.root => {
                self.is_root_closed = true;
                self.close(content_end, false)
            }
            Markup::End if self.item.is_some() && self.name == self.item_name => {
                self.close(content_end, true)
            }
            _ => None,
        }
    }

    fn close(&mut self, content_end: usize, is_closed: bool) -> Option<XmlItem> {
        let mut item = self.item.take()?;
        item.is_closed = is_closed;
        if !item.is_too_long {
            item.bytes.truncate(content_end);
        }
        Some(item)
    }

    /// Skips past the next `<` and returns its line.
    fn find_markup(&mut self) -> Option<u64> {
        loop {
            let line = self.source.line();
            if self.take()? == b'<' {
                return Some(line);
            }
        }
    }

    /// Consumes a byte and appends it to the open item.
    fn take(&mut self) -> Option<u8> {
        let byte = self.source.take()?;
        if let Some(item) = &mut self.item {
            if item.bytes.len() < ROW_BYTES_MAX {
                item.bytes.push(byte);
            } else {
                item.is_too_long = true;
            }
        }
        Some(byte)
    }

    /// Reads the markup after a `<`; `None` if the file ends within it.
    fn markup(&mut self) -> Option<Markup> {
        self.name.clear();
        match self.source.peek()? {
            b'?' => self.instruction().map(|()| Markup::Other),
            b'!' => self.declaration().map(|()| Markup::Other),
            b'/' => {
                self.take();
                self.tag()?;
                Some(Markup::End)
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => {
                let is_empty = self.tag()?;
                Some(if is_empty { Markup::Empty } else { Markup::Start })
            }
            _ => Some(Markup::Other),
        }
    }

    /// Reads a tag to its end or to an unexpected `<`; returns whether it ends in `/>`.
    fn tag(&mut self) -> Option<bool> {
        let mut is_name = true;
        let mut last = 0;
        loop {
            let byte = self.source.peek()?;
            if byte == b'<' {
                return Some(false);
            }
            self.take();
            if byte == b'>' {
                return Some(last == b'/');
            }
            is_name &= !byte.is_ascii_whitespace() && byte != b'/';
            if is_name && self.name.len() < NAME_BYTES_MAX {
                self.name.push(byte);
            }
            last = byte;
        }
    }

    /// Reads to the end of `<?…?>`. The XML declaration may name an encoding.
    fn instruction(&mut self) -> Option<()> {
        let mut text = Vec::new();
        loop {
            let byte = self.take()?;
            if byte == b'>' && text.last() == Some(&b'?') {
                break;
            }
            if text.len() == 1024 {
                text.clear();
            }
            text.push(byte.to_ascii_lowercase());
        }
        if self.root.is_empty() && text.starts_with(b"?xml") {
            let text = String::from_utf8_lossy(&text);
            let encoding = text.split_once("encoding").map(|(_, after)| after);
            self.has_unsupported_encoding = !self.source.is_converted()
                && encoding.is_some_and(|after| {
                    let name = after
                        .trim_start_matches(|character: char| " \t\r\n=\"'".contains(character));
                    !["utf-8", "utf8", "us-ascii"].iter().any(|known| name.starts_with(known))
                });
        }
        Some(())
    }

    /// Reads to the end of a comment, a CDATA section or a document type.
    fn declaration(&mut self) -> Option<()> {
        self.take();
        match self.source.peek()? {
            b'-' => {
                self.take();
                if self.source.peek()? != b'-' {
                    return Some(());
                }
                self.take();
                self.until(b'-')
            }
            b'[' => self.until(b']'),
            _ => self.document_type(),
        }
    }

    /// Reads to the byte repeated twice and a `>`.
    fn until(&mut self, end: u8) -> Option<()> {
        let mut count = 0;
        loop {
            match self.take()? {
                b'>' if count >= 2 => return Some(()),
                byte if byte == end => count += 1,
                _ => count = 0,
            }
        }
    }

    /// Skips a document type. Its declarations are ignored, because nested entities can expand without
    /// bound.
    fn document_type(&mut self) -> Option<()> {
        let mut depth = 1_u32;
        let mut quote = None;
        loop {
            let byte = self.take()?;
            match (quote, byte) {
                (Some(open), _) if open == byte => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, b'<') => depth = depth.saturating_add(1),
                (None, b'>') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(());
            }
        }
    }
}

/// Returns a name without its prefix.
fn local(name: &[u8]) -> &[u8] {
    let colon = name.iter().rposition(|byte| *byte == b':');
    colon.map_or(name, |at| &name[at + 1..])
}
