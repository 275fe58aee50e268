//! Cuts a JSON document into the products it holds. serde would keep an element of any size before
//! anyone could object, and would stop at the first mistake; where an element ends follows from its
//! braces and strings alone.

use crate::limit::ROW_BYTES_MAX;
use crate::source::Source;

/// A product, as text.
#[derive(Debug, Default)]
pub(crate) struct Element {
    /// Where it begins.
    pub(crate) line: u64,
    /// As far as it is kept.
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_too_long: bool,
}

/// What follows.
#[derive(Debug)]
pub(crate) enum Next {
    Element(Element),
    /// The document is whole.
    End,
    /// The document ends too early.
    Cut,
    /// This is no JSON, or holds no products.
    Malformed,
    /// The document is one object, and it is itself a product: more may follow, one on a line.
    Lines(Element),
}

/// Where in the document the reading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before everything.
    Outside,
    /// Between the elements of the array; `needs_comma` behind the first.
    Array { is_wrapped: bool, needs_comma: bool },
    /// Behind the array, in the object around it.
    Behind,
}

/// What the first object of a document turned out to be.
enum Opened {
    /// One with `products`, whose array is open now.
    Products,
    /// A product, read whole.
    Product(Element),
}

pub(crate) struct Elements<'s, 'a> {
    source: &'s mut Source<'a>,
    place: Place,
}

impl<'s, 'a> Elements<'s, 'a> {
    pub(crate) fn new(source: &'s mut Source<'a>) -> Self {
        Self { source, place: Place::Outside }
    }

    pub(crate) fn source(&mut self) -> &mut Source<'a> {
        self.source
    }

    pub(crate) fn next(&mut self) -> Next {
        self.find_next().unwrap_or(Next::Cut)
    }

    /// None if the file ends within.
    fn find_next(&mut self) -> Option<Next> {
        loop {
            match self.place {
                Place::Outside => match self.sign()? {
                    b'[' => self.place = Place::Array { is_wrapped: false, needs_comma: false },
                    b'{' => match self.object()? {
                        Opened::Product(product) => return Some(Next::Lines(product)),
                        Opened::Products => {
                            self.place = Place::Array { is_wrapped: true, needs_comma: false };
                        }
                    },
                    _ => return Some(Next::Malformed),
                },
                Place::Array { is_wrapped, needs_comma } => {
                    return self.in_array(is_wrapped, needs_comma);
                }
                Place::Behind => return self.behind(),
            }
        }
    }

    fn in_array(&mut self, is_wrapped: bool, needs_comma: bool) -> Option<Next> {
        let mut sign = self.sign()?;
        if sign == b']' {
            if is_wrapped {
                self.place = Place::Behind;
                return self.behind();
            }
            return Some(self.nothing_follows());
        }
        if needs_comma {
            if sign != b',' {
                return Some(Next::Malformed);
            }
            sign = self.sign()?;
        }
        if matches!(sign, b',' | b']' | b'}' | b':') {
            return Some(Next::Malformed);
        }
        self.place = Place::Array { is_wrapped, needs_comma: true };
        let mut element = Element { line: self.source.line(), ..Element::default() };
        self.value(sign, &mut element)?;
        Some(Next::Element(element))
    }

    /// Passes over the fields behind the products, to the end of the object.
    fn behind(&mut self) -> Option<Next> {
        let mut passed = Element { is_too_long: true, ..Element::default() };
        loop {
            match self.sign()? {
                b'}' => return Some(self.nothing_follows()),
                sign @ (b'{' | b'[' | b'"') => self.value(sign, &mut passed)?,
                b']' => return Some(Next::Malformed),
                _ => {}
            }
        }
    }

    fn nothing_follows(&mut self) -> Next {
        match self.sign() {
            None if !self.source.has_failed() => Next::End,
            None => Next::Cut,
            Some(_) => Next::Malformed,
        }
    }

    /// Reads an object up to the array of its `products`. One that has none is itself the product.
    fn object(&mut self) -> Option<Opened> {
        let mut object = Element { line: self.source.line(), ..Element::default() };
        object.push(b'{');
        let mut name = Element::default();
        let mut is_name = true;
        loop {
            match self.sign()? {
                b'"' if is_name => {
                    name = Element::default();
                    self.value(b'"', &mut name)?;
                    object.append(&name);
                }
                b'[' if name.bytes == b"\"products\"" => return Some(Opened::Products),
                sign @ (b'"' | b'{' | b'[') => {
                    self.value(sign, &mut object)?;
                }
                b'}' => {
                    object.push(b'}');
                    return Some(Opened::Product(object));
                }
                sign => {
                    is_name = if sign == b',' { true } else { is_name && sign != b':' };
                    object.push(sign);
                }
            }
        }
    }

    /// The next byte that is not white space.
    fn sign(&mut self) -> Option<u8> {
        while self.source.peek()?.is_ascii_whitespace() {
            self.source.take();
        }
        self.source.take()
    }

    /// Reads a value whose first byte was taken, into an element.
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
            // A number or a word, which ends before the next sign.
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
