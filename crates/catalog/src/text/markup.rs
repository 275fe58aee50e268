//! Removing markup. Tags, comments and entities are recognized exactly as browsers do, because the tokenizer follows the
//! HTML standard, including its error handling.

use std::convert::Infallible;

use html5gum::emitters::callback::{Callback, CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};

/// Whether a text may contain markup; if not, the tokenizer is not needed.
pub(super) fn may_contain_markup(text: &str) -> bool {
    text.as_bytes().windows(2).any(|pair| starts_markup(pair[0], pair[1]))
}

/// Whether two bytes may start a tag, a comment or an entity. Nothing else starts one.
pub(super) fn starts_markup(first: u8, second: u8) -> bool {
    match first {
        b'<' => second.is_ascii_alphabetic() || matches!(second, b'/' | b'!' | b'?'),
        b'&' => second.is_ascii_alphanumeric() || second == b'#',
        _ => false,
    }
}

/// Returns the text without tags, with its entities decoded once.
pub(super) fn strip(text: &str) -> String {
    let mut visible = Vec::with_capacity(text.len());
    let page = Page::new(&mut visible);
    // A browser shows an end tag without a name as text, but it is never intended.
    let text = text.strip_suffix("</").unwrap_or(text);
    let Ok(()) = Tokenizer::new_with_emitter(text, Stripper::new(page)).finish();
    String::from_utf8(visible)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The emitter of the tokenizer, with two settings that differ from the default.
struct Stripper<'a>(CallbackEmitter<Page<'a>, Infallible>);

impl<'a> Stripper<'a> {
    fn new(page: Page<'a>) -> Self {
        let mut emitter = CallbackEmitter::new(page);
        // Without this the contents of a script would be parsed as markup.
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

    /// A browser treats CDATA in a page as a comment. Feeds wrap whole descriptions in it, sometimes twice, so that its
    /// contents are text here.
    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        true
    }
}

/// Collects the text that a browser would show.
struct Page<'a> {
    visible: &'a mut Vec<u8>,
    /// Inside an element whose contents are not displayed.
    is_hidden: bool,
    /// Directly after a line break of the markup, where a line break of the source has no effect.
    is_after_break: bool,
    /// Line breaks at the end. Counted, because looking back each time would be quadratic.
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
    fn new(visible: &'a mut Vec<u8>) -> Self {
        Self { visible, is_hidden: false, is_after_break: false, breaks: 0 }
    }

    fn show(&mut self, text: &[u8]) {
        let text = if self.is_after_break { text.trim_ascii_start() } else { text };
        if text.is_empty() {
            return;
        }
        let (content, end) = text.split_at(text.trim_ascii_end().len());
        let breaks = end.split(|byte| *byte == b'\n').count() - 1;
        self.breaks = if content.is_empty() { self.breaks + breaks } else { breaks };
        self.visible.extend_from_slice(text);
        self.is_after_break = false;
    }

    /// Separates what a browser displays separately. Inline elements separate nothing, not even words.
    fn separate(&mut self, name: &[u8]) {
        match name {
            b"br" => self.break_lines(self.breaks + 1),
            b"p" => self.break_lines(2),
            b"td" | b"th" => self.visible.push(b' '),
            name if is_block(name) => self.break_lines(1),
            _ => {}
        }
    }

    /// Appends line breaks until there are `count` at the end. Adjacent blocks share them.
    fn break_lines(&mut self, count: usize) {
        for _ in self.breaks..count {
            self.visible.push(b'\n');
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
