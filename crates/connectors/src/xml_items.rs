//! Cuts an XML feed into its items. An XML reader stops at the first mistake of a file, and keeps a
//! title as large as its maker likes; a merchant wants to hear of one bad item and to have the others
//! read. So the items are found here, by their tags, and each is parsed on its own.

use crate::limit::ROW_BYTES_MAX;
use crate::source::Source;

/// The longest name of a tag that means something here.
const NAME_BYTES_MAX: usize = 64;

/// What lies between the tags of an item.
#[derive(Debug)]
pub(crate) struct Fragment {
    /// Where its start tag stands.
    pub(crate) line: u64,
    /// The content, as far as it is kept.
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_too_long: bool,
    /// Whether it has an end tag.
    pub(crate) is_closed: bool,
}

/// How a feed ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// With the end tag of its first element.
    Whole,
    /// Before it.
    Cut,
    /// It says that it is written in something other than UTF-8.
    OtherEncoding,
}

pub(crate) struct Fragments<'s, 'a> {
    source: &'s mut Source<'a>,
    root: Vec<u8>,
    is_root_closed: bool,
    is_other_encoding: bool,
    /// The item that is open.
    item: Option<Fragment>,
    /// The name of its tag.
    item_name: Vec<u8>,
    /// What was behind the last `<`.
    name: Vec<u8>,
}

/// A piece of markup.
enum Markup {
    Start,
    Empty,
    End,
    /// Comments, CDATA, declarations and `<` that begin nothing.
    Other,
}

impl<'s, 'a> Fragments<'s, 'a> {
    pub(crate) fn new(source: &'s mut Source<'a>) -> Self {
        Self {
            source,
            root: Vec::new(),
            is_root_closed: false,
            is_other_encoding: false,
            item: None,
            item_name: Vec::new(),
            name: Vec::new(),
        }
    }

    /// The line the reading has come to.
    pub(crate) fn line(&self) -> u64 {
        self.source.line()
    }

    /// The next item, or how the feed ended.
    pub(crate) fn next(&mut self) -> Result<Fragment, End> {
        loop {
            let line = self.find_markup().ok_or(self.end())?;
            let mark = self.item.as_ref().map_or(0, |item| item.bytes.len().saturating_sub(1));
            let markup = self.markup().ok_or(self.end())?;
            if self.is_other_encoding {
                return Err(End::OtherEncoding);
            }
            if let Some(done) = self.step(&markup, line, mark) {
                return Ok(done);
            }
        }
    }

    fn end(&self) -> End {
        if self.is_root_closed && !self.source.has_failed() { End::Whole } else { End::Cut }
    }

    /// What a piece of markup does to the item that is open; `mark` is where the item's content ends
    /// if this is its end.
    fn step(&mut self, markup: &Markup, line: u64, mark: usize) -> Option<Fragment> {
        let is_item = matches!(local(&self.name), b"item" | b"entry");
        match markup {
            Markup::Start | Markup::Empty if is_item => {
                let before = self.close(mark, false);
                let begun =
                    Fragment { line, bytes: Vec::new(), is_too_long: false, is_closed: true };
                if matches!(markup, Markup::Empty) {
                    // Behind an item that was not closed, one that says nothing is not missed.
                    return before.or(Some(begun));
                }
                self.item = Some(begun);
                self.item_name.clone_from(&self.name);
                before
            }
            Markup::Start if self.root.is_empty() => {
                self.root.clone_from(&self.name);
                None
            }
            Markup::End if self.name == self.root => {
                self.is_root_closed = true;
                self.close(mark, false)
            }
            Markup::End if self.item.is_some() && self.name == self.item_name => {
                self.close(mark, true)
            }
            _ => None,
        }
    }

    fn close(&mut self, mark: usize, is_closed: bool) -> Option<Fragment> {
        let mut item = self.item.take()?;
        item.is_closed = is_closed;
        if !item.is_too_long {
            item.bytes.truncate(mark);
        }
        Some(item)
    }

    /// Goes to the next `<` and behind it; answers its line.
    fn find_markup(&mut self) -> Option<u64> {
        loop {
            let line = self.source.line();
            if self.take()? == b'<' {
                return Some(line);
            }
        }
    }

    /// Takes a byte, into the item that is open.
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

    /// Reads what a `<` began; none if the file ends within it.
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

    /// Reads a tag to its end, or to a `<` that should not be there; says whether it ends in `/>`.
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

    /// Reads to the end of `<?…?>`. The first one of a file may name an encoding.
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
            let encoding = text.split_once("encoding").map(|(_, behind)| behind);
            self.is_other_encoding = encoding.is_some_and(|behind| {
                let name = behind.trim_start_matches(|sign: char| " \t\r\n=\"'".contains(sign));
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

    /// Reads to two of a sign and a `>`.
    fn until(&mut self, sign: u8) -> Option<()> {
        let mut signs = 0;
        loop {
            match self.take()? {
                b'>' if signs >= 2 => return Some(()),
                byte if byte == sign => signs += 1,
                _ => signs = 0,
            }
        }
    }

    /// Passes over a document type. What it declares is never used: an entity that is made of others
    /// can grow without bound.
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

/// A name without its prefix.
fn local(name: &[u8]) -> &[u8] {
    let colon = name.iter().rposition(|byte| *byte == b':');
    colon.map_or(name, |at| &name[at + 1..])
}
