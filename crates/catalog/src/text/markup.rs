//! Markup, as browsers read it. Whatever a browser would call a tag, a comment or an entity is one
//! here, because the tokenizer follows the same standard, mistakes of writers included.

use std::convert::Infallible;

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};

/// Whether anything here could be markup. Without it the tokenizer has nothing to do.
pub(super) fn is_likely(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| starts_markup(pair[0], pair[1]))
}

/// Whether two bytes may open a tag, a comment or an entity. No other two do.
pub(super) fn starts_markup(first: u8, second: u8) -> bool {
    match first {
        b'<' => second.is_ascii_alphabetic() || matches!(second, b'/' | b'!' | b'?'),
        b'&' => second.is_ascii_alphanumeric() || second == b'#',
        _ => false,
    }
}

/// The text between the tags, its entities decoded once.
pub(super) fn strip(text: &str) -> String {
    let mut shown = Vec::with_capacity(text.len());
    let page = Page::of(&mut shown);
    // An end tag that never gets a name is text to a browser, but no merchant means it.
    let text = text.strip_suffix("</").unwrap_or(text);
    let Ok(()) = Tokenizer::new_with_emitter(text, Stripper::new(page)).finish();
    String::from_utf8(shown)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The tokenizer's listener, told two things the usual one does not know.
struct Stripper<'a>(CallbackEmitter<Page<'a>, Infallible>);

impl<'a> Stripper<'a> {
    fn new(page: Page<'a>) -> Self {
        let mut emitter = CallbackEmitter::new(page);
        // Without this the contents of a script would be read as markup.
        emitter.naively_switch_states(true);
        Self(emitter)
    }
}

impl ForwardingEmitter for Stripper<'_> {
    type Token = Infallible;

    fn inner(&mut self) -> &mut impl Emitter<Token = Infallible> {
        &mut self.0
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }

    /// A browser takes CDATA in a page for a comment. Feeds wrap whole descriptions in it, sometimes
    /// twice, so here its contents are text.
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        true
    }
}

/// What a reader of the page would see.
struct Page<'a> {
    shown: &'a mut Vec<u8>,
    /// Within an element whose contents are not for readers.
    is_hidden: bool,
    /// Directly behind a line break of markup, where the source's own line break means nothing.
    is_after_break: bool,
    /// How many line breaks stand at the end. Counted here, because looking back each time would let
    /// a page of spaces and blocks take for ever.
    breaks: usize,
}

impl Callback<Infallible, ()> for Page<'_> {
    fn handle_event(&mut self, event: CallbackEvent<'_>, _: Span<()>) -> Option<Infallible> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.is_hidden = matches!(name, b"script" | b"style" | b"iframe" | b"noembed");
                self.separate(name);
            }
            CallbackEvent::EndTag { name } => {
                self.is_hidden = false;
                self.separate(name);
            }
            CallbackEvent::String { value } if !self.is_hidden => self.show(value),
            _ => {}
        }
        None
    }
}

impl<'a> Page<'a> {
    fn of(shown: &'a mut Vec<u8>) -> Self {
        Self { shown, is_hidden: false, is_after_break: false, breaks: 0 }
    }

    fn show(&mut self, text: &[u8]) {
        let text = if self.is_after_break { text.trim_ascii_start() } else { text };
        if text.is_empty() {
            return;
        }
        let (ink, end) = text.split_at(text.trim_ascii_end().len());
        let breaks = end.split(|byte| *byte == b'\n').count() - 1;
        self.breaks = if ink.is_empty() { self.breaks + breaks } else { breaks };
        self.shown.extend_from_slice(text);
        self.is_after_break = false;
    }

    /// Keeps apart what a browser shows apart. Other elements stand within a line, even a word.
    fn separate(&mut self, name: &[u8]) {
        match name {
            b"br" => self.break_lines(self.breaks + 1),
            b"p" => self.break_lines(2),
            b"td" | b"th" => self.shown.push(b' '),
            name if is_block(name) => self.break_lines(1),
            _ => {}
        }
    }

    /// Sees to it that so many line breaks stand at the end. Neighbouring blocks share theirs.
    fn break_lines(&mut self, count: usize) {
        for _ in self.breaks..count {
            self.shown.push(b'\n');
        }
        self.breaks = self.breaks.max(count);
        self.is_after_break = true;
    }
}

#[rustfmt::skip]
fn is_block(name: &[u8]) -> bool {
    matches!(
        name,
        b"address" | b"article" | b"aside" | b"blockquote" | b"body" | b"caption" | b"center"
            | b"dd" | b"details" | b"dialog" | b"dir" | b"div" | b"dl" | b"dt" | b"fieldset"
            | b"figcaption" | b"figure" | b"footer" | b"form" | b"h1" | b"h2" | b"h3" | b"h4"
            | b"h5" | b"h6" | b"head" | b"header" | b"hgroup" | b"hr" | b"html" | b"legend"
            | b"li" | b"main" | b"menu" | b"nav" | b"ol" | b"optgroup" | b"option" | b"pre"
            | b"search" | b"section" | b"summary" | b"table" | b"tbody" | b"textarea" | b"tfoot"
            | b"thead" | b"title" | b"tr" | b"ul"
    )
}
