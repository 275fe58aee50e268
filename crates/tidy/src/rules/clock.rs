//! The moment and the dice are parameters, so that a seeded test replays exactly.

use crate::{
    Finding, House,
    source_path::SourcePath,
    sql::{Kind, Token},
};

/// Functions, forbidden where they are called.
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

/// Words that SQL understands without parentheses.
const WORDS: &[&str] = &["current_timestamp", "localtimestamp", "current_date"];

pub(super) fn check(house: &House) -> Vec<Finding> {
    // `database` is where the moment enters, once per unit of work.
    let texts = house.sql.iter().filter(|text| text.krate != "database");
    let texts = texts.map(|text| (&text.path, &text.tokens));
    let migrations = house.migrations.iter().map(|migration| (&migration.path, &migration.tokens));
    texts.chain(migrations).flat_map(|(path, tokens)| check_tokens(path, tokens)).collect()
}

fn check_tokens(path: &SourcePath, tokens: &[Token]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for index in 0..tokens.len() {
        if let Some(spelling) = forbidden(tokens, index) {
            let message = format!(
                "SQL asks the database for {spelling}: take the moment, the id or the random \
                 value as a parameter, from Work or Reading"
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
    let is_called = tokens.get(index + 1).is_some_and(|next| next.glued && next.is_mark("("));
    if CALLS.contains(&word) && is_called {
        return Some(format!("{word}()"));
    }
    // A literal of this one word is a field's name, not SQL.
    (WORDS.contains(&word) && tokens.len() > 1).then(|| word.to_owned())
}

/// Whether the word continues a path such as `Work::now()` in prose, or names a column.
/// The database's own schema is no disguise.
fn is_part_of_a_path(before: &[Token]) -> bool {
    match before {
        [.., schema, dot] if dot.is_mark(".") => !schema.is_word("pg_catalog"),
        [.., last] => last.is_mark(".") || last.is_mark(":"),
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
    fn sql_in_code_asks_for_neither_time_nor_dice() {
        let found = in_crate("carts", "SELECT 1\nWHERE expires_at > now()");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/carts/src/table.rs:3: SQL asks"), "{found:?}");
        for word in CALLS {
            assert_eq!(in_crate("carts", &format!("SELECT {word}()")).len(), 1, "{word}");
        }
        for word in WORDS {
            assert_eq!(in_crate("carts", &format!("SELECT {word}")).len(), 1, "{word}");
        }
        assert_eq!(in_crate("carts", "SELECT pg_catalog.NOW()").len(), 1);
    }

    #[test]
    fn the_home_of_the_moment_may_ask() {
        assert_eq!(in_crate("database", "SELECT now()"), [""; 0]);
    }

    #[test]
    fn comments_prose_and_names_do_not_count() {
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
    fn migrations_have_no_such_defaults() {
        let path = "crates/database/migrations/1_carts.sql";
        let text = "-- now()\nCREATE TABLE cart (\n  id uuid DEFAULT gen_random_uuid(),\n  at date DEFAULT CURRENT_DATE);";
        let found = findings(check, &[(path, text)]);
        assert_eq!(found.len(), 2);
        assert!(found[0].contains(".sql:3:") && found[1].contains(".sql:4:"), "{found:?}");
    }
}
