//! A minimal SQL reader: tokens without comments, and the tables that a text writes.

mod writes;

pub(crate) use writes::{Write, writes};

/// An SQL token. Words are in lower case, so that keywords compare equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) line: usize,
    /// Whether no whitespace separates this token from the previous one: `now()`, not `random (but`.
    pub(crate) adjacent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A keyword or a plain identifier.
    Word,
    /// A quoted identifier, or a `{placeholder}` of `format!` in the position of one.
    Name,
    /// A quoted string; its content is data, not SQL.
    Text,
    /// Any other single character.
    Symbol,
}

impl Token {
    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text == word
    }

    pub(crate) fn is_symbol(&self, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text == symbol
    }
}

/// Splits a text that starts on `first_line` into tokens.
///
/// Dollar quotes are dropped and their bodies read as SQL, because they contain function bodies.
pub(crate) fn tokens(text: &str, first_line: usize) -> Vec<Token> {
    let mut found = Vec::new();
    let (mut rest, mut line, mut adjacent) = (text, first_line, false);
    while let Some(first) = rest.chars().next() {
        let (length, kind) = measure(rest, first);
        let (token, after) = rest.split_at(length);
        if let Some(kind) = kind {
            found.push(Token { kind, text: normalized(token, kind), line, adjacent });
        }
        adjacent = kind.is_some();
        line += token.matches('\n').count();
        rest = after;
    }
    found
}

/// Returns the length and kind of the token at the start of `rest`; `None` for whitespace and comments.
fn measure(rest: &str, first: char) -> (usize, Option<Kind>) {
    if first.is_whitespace() {
        return (first.len_utf8(), None);
    }
    if rest.starts_with("--") {
        return (rest.find('\n').unwrap_or(rest.len()), None);
    }
    if rest.starts_with("/*") {
        return (rest.find("*/").map_or(rest.len(), |end| end + 2), None);
    }
    if is_word_part(first) {
        return (word_length(rest), Some(Kind::Word));
    }
    match first {
        '\'' => (quoted_length(rest, '\''), Some(Kind::Text)),
        '"' => (quoted_length(rest, '"'), Some(Kind::Name)),
        '$' => {
            let end = 1 + word_length(&rest[1..]);
            if rest[end..].starts_with('$') { (end + 1, None) } else { (end, Some(Kind::Symbol)) }
        }
        '{' => match rest[1..].find(['{', '}', ' ', '\n']) {
            Some(end) if rest[1 + end..].starts_with('}') => (end + 2, Some(Kind::Name)),
            _ => (1, Some(Kind::Symbol)),
        },
        other => (other.len_utf8(), Some(Kind::Symbol)),
    }
}

fn is_word_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn word_length(rest: &str) -> usize {
    rest.find(|character| !is_word_part(character)).unwrap_or(rest.len())
}

/// Returns the length of a quoted token including both quotes; a doubled quote does not end it.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, character)) = characters.next() {
        if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return index + 1;
        }
    }
    rest.len()
}

fn normalized(token: &str, kind: Kind) -> String {
    match kind {
        Kind::Word => token.to_lowercase(),
        Kind::Name => token.trim_matches('"').to_owned(),
        Kind::Text | Kind::Symbol => token.to_owned(),
    }
}

/// A position in a list of tokens; each `take` method advances only if it succeeds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'t> {
    rest: &'t [Token],
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(tokens: &'t [Token]) -> Self {
        Self { rest: tokens }
    }

    pub(crate) fn peek(&self) -> Option<&'t Token> {
        self.rest.first()
    }

    pub(crate) fn take(&mut self) -> Option<&'t Token> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    /// Takes these words, all of them or none.
    pub(crate) fn take_words(&mut self, words: &[&str]) -> bool {
        let found = words.len() <= self.rest.len()
            && words.iter().zip(self.rest).all(|(word, token)| token.is_word(word));
        if found {
            self.rest = &self.rest[words.len()..];
        }
        found
    }

    pub(crate) fn take_one_of(&mut self, words: &[&str]) -> bool {
        words.iter().any(|word| self.take_words(&[word]))
    }

    pub(crate) fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is_symbol(symbol));
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    /// Takes a table's name. `public.` is dropped, because unqualified names resolve to it.
    pub(crate) fn take_table(&mut self) -> Option<String> {
        let first = self.take_name()?;
        if !self.take_symbol(".") {
            return Some(first);
        }
        let second = self.take_name()?;
        Some(if first == "public" { second } else { format!("{first}.{second}") })
    }

    pub(crate) fn take_name(&mut self) -> Option<String> {
        let token = self.peek().filter(|token| matches!(token.kind, Kind::Word | Kind::Name))?;
        self.take();
        Some(token.text.clone())
    }

    /// Takes `( … )` and returns the tokens between the outer parentheses.
    pub(crate) fn take_group(&mut self) -> Option<&'t [Token]> {
        if !self.take_symbol("(") {
            return None;
        }
        let mut depth = 1;
        for (index, token) in self.rest.iter().enumerate() {
            depth += i32::from(token.is_symbol("(")) - i32::from(token.is_symbol(")"));
            if depth == 0 {
                let group = &self.rest[..index];
                self.rest = &self.rest[index + 1..];
                return Some(group);
            }
        }
        None
    }

    /// Returns the tokens up to the end of the statement.
    pub(crate) fn statement(&self) -> &'t [Token] {
        let end = self.rest.iter().position(|token| token.is_symbol(";"));
        &self.rest[..end.unwrap_or(self.rest.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        tokens(text, 1).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_are_dropped_and_words_are_lowercased() {
        let text = "SELECT a -- now()\n/* random() */ FROM \"Order\"";
        assert_eq!(texts(text), ["select", "a", "from", "Order"]);
        assert_eq!(tokens(text, 7).last().unwrap().line, 8);
    }

    #[test]
    fn strings_are_one_token_and_dollar_bodies_are_read() {
        assert_eq!(texts("'it''s now()' $1"), ["'it''s now()'", "$1"]);
        assert_eq!(texts("AS $body$ BEGIN $body$;"), ["as", "begin", ";"]);
        assert_eq!(texts("AS $$ x $$"), ["as", "x"]);
    }

    #[test]
    fn placeholders_stand_for_names() {
        assert_eq!(tokens("UPDATE {table} SET", 1)[1].kind, Kind::Name);
        assert_eq!(tokens("{ a }", 1)[0].kind, Kind::Symbol);
    }

    #[test]
    fn unterminated_tokens_end_with_the_text() {
        assert_eq!(texts("don't stop"), ["don", "'t stop"]);
        assert_eq!(texts("a /* b"), ["a"]);
        assert_eq!(texts("é$"), ["é", "$"]);
    }

    #[test]
    fn groups_nest_and_names_may_have_a_schema() {
        let all = tokens("platform.user (a (b), c) d; public.cart", 1);
        let mut cursor = Cursor::new(&all);
        assert_eq!(cursor.take_table().as_deref(), Some("platform.user"));
        assert_eq!(cursor.take_group().unwrap().len(), 6);
        assert_eq!(cursor.statement().len(), 1);
        cursor.take();
        assert!(cursor.take_symbol(";"));
        assert_eq!(cursor.take_table().as_deref(), Some("cart"));
    }
}
