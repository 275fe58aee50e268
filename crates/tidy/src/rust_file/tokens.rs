//! String literals and restricted calls, from the tokens, including macro arguments.

use std::iter::Peekable;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree, token_stream::IntoIter};
use syn::Lit;

use super::{Facts, Literal};

type Tokens = Peekable<IntoIter>;

pub(super) fn collect(stream: TokenStream, facts: &mut Facts) {
    let mut tokens = stream.into_iter().peekable();
    let mut after_fn = false;
    while let Some(token) = tokens.next() {
        let mut is_fn = false;
        match token {
            TokenTree::Group(group) => collect(group.stream(), facts),
            TokenTree::Punct(punct) if punct.as_char() == '#' => skip_attribute(&mut tokens),
            TokenTree::Literal(literal) => {
                let span = literal.span();
                if let Lit::Str(string) = Lit::new(literal) {
                    facts.literals.push(Literal {
                        text: string.value(),
                        line: span.start().line,
                        end_line: span.end().line,
                    });
                }
            }
            TokenTree::Ident(ident) if ident == "fn" => is_fn = true,
            TokenTree::Ident(ident) if uses_platform(&ident) && !after_fn => {
                facts.platform_lines.push(line_of(&ident));
            }
            TokenTree::Ident(ident) if ident == "sqlx" => query_path(&mut tokens, facts),
            TokenTree::Punct(_) | TokenTree::Ident(_) => {}
        }
        after_fn = is_fn;
    }
}

fn uses_platform(ident: &Ident) -> bool {
    ident == "for_platform" || ident == "as_platform"
}

/// Skips an attribute, which holds prose: doc comments are tokenized as `#[doc = "…"]`, error messages as `#[error("…")]`.
fn skip_attribute(tokens: &mut Tokens) {
    take_punct(tokens, '!');
    tokens.next_if(
        |token| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket),
    );
}

/// Records the path after `sqlx`. An import counts as a use, because a bare `query(…)` needs one.
fn query_path(tokens: &mut Tokens, facts: &mut Facts) {
    if !(take_punct(tokens, ':') && take_punct(tokens, ':')) {
        return;
    }
    match tokens.peek() {
        Some(TokenTree::Ident(ident)) if runs_sql(ident) => facts.query_lines.push(line_of(ident)),
        Some(TokenTree::Punct(punct)) if punct.as_char() == '*' => {
            facts.query_lines.push(punct.span().start().line);
        }
        Some(TokenTree::Group(group)) => facts.query_lines.extend(imported_lines(group)),
        _ => {}
    }
}

fn imported_lines(group: &Group) -> Vec<usize> {
    let lines_of = |token| match token {
        TokenTree::Ident(ident) if runs_sql(&ident) => vec![line_of(&ident)],
        TokenTree::Group(inner) => imported_lines(&inner),
        _ => Vec::new(),
    };
    group.stream().into_iter().flat_map(lines_of).collect()
}

fn runs_sql(ident: &Ident) -> bool {
    let name = ident.to_string();
    name.starts_with("query") || ["raw_sql", "QueryBuilder", "Executor"].contains(&name.as_str())
}

fn take_punct(tokens: &mut Tokens, expected: char) -> bool {
    tokens
        .next_if(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == expected))
        .is_some()
}

fn line_of(ident: &Ident) -> usize {
    ident.span().start().line
}

#[cfg(test)]
mod tests {
    use super::super::read_facts;

    #[test]
    fn literals_are_found_in_macros_and_raw_strings() {
        let facts = read_facts(
            "fn a() {\n    sqlx::query!(\"SELECT 1\");\n    let b = r#\"x \"y\"\"#;\n\
             outer!{ inner!([\"deep\"]) }\n let c = (b\"bytes\", 'c', 1);\n}",
        )
        .unwrap();
        let found = facts.literals.iter().map(|l| (l.text.as_str(), l.line));
        assert_eq!(found.collect::<Vec<_>>(), [("SELECT 1", 2), ("x \"y\"", 3), ("deep", 4)]);
    }

    #[test]
    fn attributes_and_comments_hold_no_literals() {
        let facts =
            read_facts("//! now()\n/// now()\n#[error(\"now()\")]\nstruct A;\n// \"now()\"\n");
        assert!(facts.unwrap().literals.is_empty());
    }

    #[test]
    fn lines_of_a_literal_are_lines_of_the_file() {
        let facts = read_facts("const A: &str = \"a\n  b\";\nconst B: &str = \"a\\nb\";").unwrap();
        let last = |index: usize| facts.literals[index].sql().last().unwrap().line;
        assert_eq!((last(0), last(1)), (2, 3));
    }

    #[test]
    fn functions_that_run_sql_are_found_by_path_and_by_import() {
        let lines = |text: &str| read_facts(text).unwrap().query_lines;
        assert_eq!(lines("fn a() {\n sqlx::query!(\"x\") }"), [2]);
        assert_eq!(lines("fn a() { ::sqlx::query_as::<_, A>(\"x\") }"), [1]);
        assert_eq!(lines("fn a() { sqlx::raw_sql(\"x\") }"), [1]);
        assert_eq!(lines("use sqlx::{\n PgPool,\n query_scalar, types::Json};"), [3]);
        assert_eq!(lines("use sqlx::*;"), [1]);
        assert_eq!(lines("use sqlx::{PgPool, postgres::*};\nfn query(a: sqlx::Error) {}"), []);
    }

    #[test]
    fn the_platform_role_is_found_where_it_is_used() {
        let lines = |text: &str| read_facts(text).unwrap().platform_lines;
        assert_eq!(lines("fn a() {\n Work::for_platform(db);\n}"), [2]);
        assert_eq!(lines("fn a() { run(Work::for_platform) }"), [1]);
        assert_eq!(lines("fn a() {\n\n work.as_platform(write) }"), [3]);
        assert_eq!(lines("impl Work { fn for_platform() {} fn as_platform() {} }"), []);
    }
}
