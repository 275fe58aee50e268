//! Timestamps and random values are parameters of SQL, so that a seeded test is reproducible.

use crate::{
    Finding, Workspace,
    source_path::SourcePath,
    sql::{Kind, Token},
};

/// Functions that SQL must not call.
const CALLS: &[&str] = &[
    "now",
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "timeofday",
    "random",
    "gen_random_uuid",
    "gen_random_bytes",
    "uuid_generate_v4",
    "uuidv4",
    "uuidv7",
];

/// Functions that SQL calls without parentheses.
const WORDS: &[&str] = &["current_timestamp", "localtimestamp", "current_date"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    // `database` reads the clock, once per unit of work. Proofs act beside the service, on rows of any age.
    let is_checked = |krate: &str| !matches!(krate, "database" | "proof");
    let texts = workspace.sql.iter().filter(|text| is_checked(&text.krate));
    let texts = texts.map(|text| (&text.path, &text.tokens));
    let migrations =
        workspace.migrations.iter().map(|migration| (&migration.path, &migration.tokens));
    texts.chain(migrations).flat_map(|(path, tokens)| check_tokens(path, tokens)).collect()
}

fn check_tokens(path: &SourcePath, tokens: &[Token]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for index in 0..tokens.len() {
        if let Some(function) = forbidden(tokens, index) {
            let message = format!(
                "SQL calls {function}: pass the timestamp, the id or the random value as a \
                 parameter, from Work or Reading"
            );
            findings.push(Finding::new(path, tokens[index].line, message));
        }
    }
    findings
}

fn forbidden(tokens: &[Token], index: usize) -> Option<String> {
    let token = &tokens[index];
    if token.kind != Kind::Word || is_part_of_a_path(&tokens[..index]) {
        return None;
    }
    let word = token.text.as_str();
    let is_called = tokens.get(index + 1).is_some_and(|next| next.adjacent && next.is_symbol("("));
    if CALLS.contains(&word) && is_called {
        return Some(format!("{word}()"));
    }
    // A literal that is only this word is a field's name, not SQL.
    (WORDS.contains(&word) && tokens.len() > 1).then(|| word.to_owned())
}

/// Whether the word continues a path such as `Work::now()` in prose, or names a column.
/// The schema `pg_catalog` does not exempt a call.
fn is_part_of_a_path(before: &[Token]) -> bool {
    match before {
        [.., schema, dot] if dot.is_symbol(".") => !schema.is_word("pg_catalog"),
        [.., last] => last.is_symbol(".") || last.is_symbol(":"),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn in_crate(krate: &str, literal: &str) -> Vec<String> {
        let path = format!("crates/{krate}/src/table.rs");
        findings(check, &[(&path, &format!("fn a() {{\n    q!(r#\"{literal}\"#);\n}}"))])
    }

    #[test]
    fn sql_in_code_calls_neither_clock_nor_random_functions() {
        let found = in_crate("carts", "SELECT 1\nWHERE expires_at > now()");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/carts/src/table.rs:3: SQL calls"), "{found:?}");
        for word in CALLS {
            assert_eq!(in_crate("carts", &format!("SELECT {word}()")).len(), 1, "{word}");
        }
        for word in WORDS {
            assert_eq!(in_crate("carts", &format!("SELECT {word}")).len(), 1, "{word}");
        }
        assert_eq!(in_crate("carts", "SELECT pg_catalog.NOW()").len(), 1);
    }

    #[test]
    fn the_database_crate_may_read_the_clock() {
        assert_eq!(in_crate("database", "SELECT now()"), [""; 0]);
    }

    #[test]
    fn comments_prose_and_names_are_ignored() {
        for text in [
            "SELECT $now -- not now()",
            "one product at random (seeded)",
            "call Work::now() or work.now() instead",
            "current_date",
            "SELECT t.current_date FROM t",
            "SELECT 'now()'",
        ] {
            assert_eq!(in_crate("carts", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn migrations_have_no_clock_or_random_defaults() {
        let path = "crates/database/migrations/1_carts.sql";
        let text = "-- now()\nCREATE TABLE cart (\n  id uuid DEFAULT gen_random_uuid(),\n  at date DEFAULT CURRENT_DATE);";
        let found = findings(check, &[(path, text)]);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains(".sql:3:") && found[1].contains(".sql:4:"), "{found:?}");
    }
}
