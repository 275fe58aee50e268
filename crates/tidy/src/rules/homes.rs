//! A rule of the business is written in one place. Each row of the table names a pattern, the files
//! that may contain it, and what to do instead.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::{Finding, Workspace, rust_file::RustFile};
use Pattern::{Code, Literal};

const DOORS: &[&str] = &["crates/mcp/src/", "crates/rest/src/", "crates/web/src/"];
const CHECKOUT: &[&str] = &["crates/checkout/src/"];
const EVERYWHERE: &[&str] = &["crates/"];

/// This file contains the patterns that it refuses.
const EXEMPT: &str = "crates/tidy/src/rules/homes.rs";

const HOMES: &[Home] = &[
    Home {
        patterns: &[
            Code("PER_MINUTE: u32 = #"),
            Code(".tool(?, #)"),
            Code("QuotaRequest::tier(Class::?, ?, #)"),
        ],
        within: DOORS,
        allowed: &["crates/limits/src/quotas.rs"],
        message: "a quota outside its declaration: declare it in crates/limits/src/quotas.rs and refer to it",
    },
    Home {
        patterns: &[Code(".status ="), Code(".stored_status =")],
        within: CHECKOUT,
        allowed: &["crates/checkout/src/session.rs", "crates/checkout/src/confirmation.rs"],
        message: "a status is assigned: use Session::apply or Confirmation::apply, which follow the table of transitions",
    },
    Home {
        patterns: &[Code("[(Self, &'static str);")],
        within: EVERYWHERE,
        allowed: &[],
        message: "a table of names written by hand: declare the enum with primitives::text_enum!",
    },
    Home {
        patterns: &[Literal(":02x}")],
        within: EVERYWHERE,
        allowed: &[],
        message: "hexadecimal written by hand: use the `hex` crate",
    },
];

/// Code that belongs into certain files only.
struct Home {
    patterns: &'static [Pattern],
    /// Prefixes of the paths that the row applies to.
    within: &'static [&'static str],
    /// Prefixes of the paths that may contain the pattern.
    allowed: &'static [&'static str],
    message: &'static str,
}

/// What a row searches for. Comments never match.
enum Pattern {
    /// Rust tokens in any spacing; `?` matches any token and `#` any number.
    Code(&'static str),
    /// A part of a string literal.
    Literal(&'static str),
}

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    HOMES.iter().flat_map(|home| home.findings(workspace)).collect()
}

impl Home {
    fn findings(&self, workspace: &Workspace) -> Vec<Finding> {
        let mut findings = Vec::new();
        for file in workspace.rust.iter().filter(|file| self.applies_to(file)) {
            let text = workspace.text(file.path.as_str()).map_or("", |text| text.text.as_str());
            for line in self.patterns.iter().flat_map(|pattern| pattern.lines(file, text)) {
                findings.push(Finding::new(&file.path, line, self.message));
            }
        }
        findings
    }

    fn applies_to(&self, file: &RustFile) -> bool {
        let path = file.path.as_str();
        let starts_with =
            |prefixes: &[&str]| prefixes.iter().any(|prefix| path.starts_with(prefix));
        path != EXEMPT && starts_with(self.within) && !starts_with(self.allowed)
    }
}

impl Pattern {
    /// Returns the lines on which the pattern starts.
    fn lines(&self, file: &RustFile, text: &str) -> Vec<usize> {
        match self {
            Literal(part) => {
                let literals = file.facts.literals.iter();
                literals.filter(|literal| literal.text.contains(*part)).map(|l| l.line).collect()
            }
            Code(pattern) => code_lines(&pattern_tokens(pattern), text),
        }
    }
}

fn code_lines(pattern: &[&str], text: &str) -> Vec<usize> {
    let mut words = pattern.iter().filter(|token| token.starts_with(char::is_alphabetic));
    // Lexing is slow, and most files lack one of the words.
    if !words.all(|word| text.contains(*word)) {
        return Vec::new();
    }
    let mut tokens = Vec::new();
    if let Ok(stream) = text.parse::<TokenStream>() {
        flatten(stream, &mut tokens);
    }
    let starts = (0..tokens.len()).filter(|start| matches(pattern, &tokens[*start..]));
    starts.map(|start| tokens[start].line).collect()
}

/// A token of a Rust file; delimiters are tokens too.
struct Token {
    text: String,
    line: usize,
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    for tree in stream {
        let line = tree.span().start().line;
        let mut push = |text: String| tokens.push(Token { text, line });
        match tree {
            TokenTree::Ident(ident) => push(ident.to_string()),
            TokenTree::Punct(punct) => push(punct.as_char().to_string()),
            TokenTree::Literal(literal) => push(literal.to_string()),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                push(open.to_owned());
                flatten(group.stream(), tokens);
                let line = group.span_close().end().line;
                tokens.push(Token { text: close.to_owned(), line });
            }
        }
    }
}

/// Splits a pattern into words and single characters.
fn pattern_tokens(pattern: &str) -> Vec<&str> {
    let is_word_part = |character: char| character.is_alphanumeric() || character == '_';
    let mut tokens = Vec::new();
    let mut rest = pattern.trim_start();
    while let Some(first) = rest.chars().next() {
        let word_length = rest.find(|c| !is_word_part(c)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(word_length.max(first.len_utf8()));
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

fn matches(pattern: &[&str], tokens: &[Token]) -> bool {
    let is_match = |(expected, token): (&&str, &Token)| match *expected {
        "?" => true,
        "#" => token.text.starts_with(|character: char| character.is_ascii_digit()),
        expected => expected == token.text,
    };
    let continues = |token: &Token| token.text == "=" || token.text == ">";
    // `=` is the assignment, not the start of `==` or `=>`.
    let is_operator =
        pattern.last() == Some(&"=") && tokens.get(pattern.len()).is_some_and(continues);
    tokens.len() >= pattern.len() && pattern.iter().zip(tokens).all(is_match) && !is_operator
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::findings;
    use super::*;

    fn of(path: &str, text: &str) -> Vec<String> {
        findings(check, &[(path, text)])
    }

    /// The lines of a row's findings.
    fn row(index: usize, path: &str, text: &str) -> usize {
        HOMES[index].findings(&Workspace::of([(path, text)])).len()
    }

    #[test]
    fn a_table_of_names_is_refused() {
        let text = "impl A {\n    const ALL: [(Self, &'static str); 2] = [];\n}";
        let found = of("crates/carts/src/cart.rs", text);
        assert!(found.len() == 1 && found[0].contains("cart.rs:2: a table of names"), "{found:?}");
        assert_eq!(of("crates/carts/src/cart.rs", "// [(Self, &'static str); 2]"), [""; 0]);
        assert_eq!(of("crates/carts/src/cart.rs", "type A = [(u8, &'static str); 2];"), [""; 0]);
    }

    #[test]
    fn hexadecimal_by_hand_is_refused() {
        for text in ["format!(\"{:02x}\", byte)", "write!(text, \"{byte:02x}\")"] {
            let text = format!("fn a() {{\n    {text};\n}}");
            let found = of("crates/carts/src/cart.rs", &text);
            assert!(found.len() == 1 && found[0].contains("cart.rs:2: hexadecimal"), "{found:?}");
        }
        assert_eq!(of("crates/a/src/a.rs", "fn a() { write!(url, \"%{byte:02X}\"); }"), [""; 0]);
    }

    #[test]
    fn a_quota_is_declared_once() {
        let rest = "crates/rest/src/agent_carts.rs";
        assert_eq!(row(0, rest, "fn a() { route.tool(\"create_cart\", 20) }"), 1);
        assert_eq!(row(0, rest, "fn a() { route.tool(\"create_cart\") }"), 0);
        assert_eq!(row(0, "crates/web/src/a.rs", "const PER_MINUTE: u32 = 60;"), 1);
        assert_eq!(row(0, "crates/web/src/a.rs", "const PER_MINUTE: u32 = quotas::PAGE;"), 0);
        assert_eq!(row(0, "crates/limits/src/quotas.rs", "const PER_MINUTE: u32 = 60;"), 0);
        assert_eq!(row(0, rest, "fn a() { QuotaRequest::tier(Class::Read, \"public\", 30) }"), 1);
        assert_eq!(
            row(0, rest, "fn a() { QuotaRequest::tier(Class::Read, \"public\", PUBLIC) }"),
            0
        );
    }

    #[test]
    fn the_status_of_a_session_changes_through_the_machine() {
        let assignment = "fn a() {\n    session.status = Status::Completed;\n}";
        assert_eq!(row(1, "crates/checkout/src/create.rs", assignment), 1);
        assert_eq!(row(1, "crates/checkout/src/session.rs", assignment), 0);
        assert_eq!(row(1, "crates/orders/src/create.rs", assignment), 0);
        let comparison = "fn a() { session.status == Status::Completed }";
        assert_eq!(row(1, "crates/checkout/src/create.rs", comparison), 0);
    }

    #[test]
    fn every_allowed_path_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for path in HOMES.iter().flat_map(|home| home.within.iter().chain(home.allowed)) {
            assert!(root.join(path).exists(), "{path} does not exist");
        }
    }

    #[test]
    fn a_pattern_is_split_into_tokens() {
        assert_eq!(pattern_tokens("[(Self, &'static"), ["[", "(", "Self", ",", "&", "'", "static"]);
        assert_eq!(pattern_tokens(".tool(?, #)"), [".", "tool", "(", "?", ",", "#", ")"]);
    }
}
