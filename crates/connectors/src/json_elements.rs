//! Splits a JSON document into its products. serde would buffer an element of any size and stop at the
//! first error; the end of an element follows from its braces and strings alone.

use crate::limits::ROW_BYTES_MAX;
use crate::source::Source;

/// The text of a product.
#[derive(Debug, Default)]
pub(crate) struct Element {
    /// Line of the first byte.
    pub(crate) line: u64,
    /// Up to the maximum size of a row.
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_too_long: bool,
}

/// The next part of a document.
#[derive(Debug)]
pub(crate) enum Next {
    Element(Element),
    /// The document is complete.
    End,
    /// The document ends early.
    Truncated,
    /// The document is not JSON, or contains no products.
    Malformed,
    /// The first object is itself a product; more may follow, one per line.
    JsonLines(Element),
}

/// The position in the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before the first byte.
    Start,
    /// Between the elements of the array; `needs_comma` after the first.
    Array { is_wrapped: bool, needs_comma: bool },
    /// After the array, in the object that contains it.
    AfterArray,
}

/// The first object of a document.
enum FirstObject {
    /// An object with `products`, whose array is now open.
    Products,
    /// A complete product.
    Product(Element),
}

/// Reads the products of a document one by one.
pub(crate) struct JsonElements<'s, 'a> {
    source: &'s mut Source<'a>,
    position: Position,
}

impl<'s, 'a> JsonElements<'s, 'a> {
    pub(crate) fn new(source: &'s mut Source<'a>) -> Self {
        Self { source, position: Position::Start }
    }

    pub(crate) fn source(&mut self) -> &mut Source<'a> {
        self.source
    }

    pub(crate) fn next(&mut self) -> Next {
        self.find_next().unwrap_or(Next::Truncated)
    }

    /// Returns `None` if the file ends early.
    fn find_next(&mut self) -> Option<Next> {
        loop {
            match self.position {
                Position::Start => match self.next_token()? {
                    b'[' => {
                        self.position = Position::Array { is_wrapped: false, needs_comma: false };
                    }
                    b'{' => match self.object()? {
                        FirstObject::Product(product) => return Some(Next::JsonLines(product)),
                        FirstObject::Products => {
                            self.position =
                                Position::Array { is_wrapped: true, needs_comma: false };
                        }
                    },
                    _ => return Some(Next::Malformed),
                },
                Position::Array { is_wrapped, needs_comma } => {
                    return self.in_array(is_wrapped, needs_comma);
                }
                Position::AfterArray => return self.after_array(),
            }
        }
    }

    fn in_array(&mut self, is_wrapped: bool, needs_comma: bool) -> Option<Next> {
        let mut token = self.next_token()?;
        if token == b']' {
            if is_wrapped {
                self.position = Position::AfterArray;
                return self.after_array();
            }
            return Some(self.end());
        }
        if needs_comma {
            if token != b',' {
                return Some(Next::Malformed);
            }
            token = self.next_token()?;
        }
        if matches!(token, b',' | b']' | b'}' | b':') {
            return Some(Next::Malformed);
        }
        self.position = Position::Array { is_wrapped, needs_comma: true };
        let mut element = Element { line: self.source.line(), ..Element::default() };
        self.value(token, &mut element)?;
        Some(Next::Element(element))
    }

    /// Skips the fields after the products, to the end of the object.
    fn after_array(&mut self) -> Option<Next> {
        let mut skipped = Element { is_too_long: true, ..Element::default() };
        loop {
            match self.next_token()? {
                b'}' => return Some(self.end()),
                token @ (b'{' | b'[' | b'"') => self.value(token, &mut skipped)?,
                b']' => return Some(Next::Malformed),
                _ => {}
            }
        }
    }

    fn end(&mut self) -> Next {
        match self.next_token() {
            None if !self.source.has_failed() => Next::End,
            None => Next::Truncated,
            Some(_) => Next::Malformed,
        }
    }

    /// Reads an object up to the array of its `products`. An object without it is itself a product.
    fn object(&mut self) -> Option<FirstObject> {
        let mut object = Element { line: self.source.line(), ..Element::default() };
        object.push(b'{');
        let mut name = Element::default();
        let mut is_name = true;
        loop {
            match self.next_token()? {
                b'"' if is_name => {
                    name = Element::default();
                    self.value(b'"', &mut name)?;
                    object.append(&name);
                }
                b'[' if name.bytes == b"\"products\"" => return Some(FirstObject::Products),
                token @ (b'"' | b'{' | b'[') => {
                    self.value(token, &mut object)?;
                }
                b'}' => {
                    object.push(b'}');
                    return Some(FirstObject::Product(object));
                }
                token => {
                    is_name = if token == b',' { true } else { is_name && token != b':' };
                    object.push(token);
                }
            }
        }
    }

    /// Consumes whitespace and returns the next byte.
    fn next_token(&mut self) -> Option<u8> {
        while self.source.peek()?.is_ascii_whitespace() {
            self.source.take();
        }
        self.source.take()
    }

    /// Reads a value, whose first byte is consumed, into an element.
    fn value(&mut self, first: u8, element: &mut Element) -> Option<()> {
        element.push(first);
        match first {
            b'"' => self.string(element),
            b'{' | b'[' => {
                let mut depth = 1_u64;
                while depth > 0 {
                    let byte = self.source.take()?;
                    element.push(byte);
                    match byte {
                        b'"' => self.string(element)?,
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                }
                Some(())
            }
            // A number or a literal, which ends before the next delimiter.
            _ => loop {
                match self.source.peek()? {
                    b',' | b']' | b'}' => return Some(()),
                    byte => {
                        self.source.take();
                        element.push(byte);
                    }
                }
            },
        }
    }

    /// Reads the rest of a string.
    fn string(&mut self, element: &mut Element) -> Option<()> {
        let mut is_escaped = false;
        loop {
            let byte = self.source.take()?;
            element.push(byte);
            if byte == b'"' && !is_escaped {
                return Some(());
            }
            is_escaped = byte == b'\\' && !is_escaped;
        }
    }
}

impl Element {
    fn push(&mut self, byte: u8) {
        if self.bytes.len() < ROW_BYTES_MAX {
            self.bytes.push(byte);
        } else {
            self.is_too_long = true;
        }
    }

    fn append(&mut self, other: &Self) {
        other.bytes.iter().for_each(|byte| self.push(*byte));
        self.is_too_long |= other.is_too_long;
    }
}
