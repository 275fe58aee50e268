//! Finds the tables that a text writes.
//!
//! String literals hold prose as well as SQL ("update cart"), so each verb must be followed by
//! syntax that only SQL has: `UPDATE x … SET`, `INSERT INTO x (`. The same patterns exclude
//! `FOR UPDATE`, `DO UPDATE SET`, `ON DELETE` and the events of triggers and policies.

use super::{Cursor, Kind, Token};

/// A statement that changes a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) verb: &'static str,
    pub(crate) table: String,
    pub(crate) line: usize,
}

/// Returns every write in the text, including those inside a CTE.
pub(crate) fn writes(tokens: &[Token]) -> Vec<Write> {
    let mut found = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Word {
            continue;
        }
        let mut cursor = Cursor::new(&tokens[index + 1..]);
        let (verb, tables) = match token.text.as_str() {
            "insert" => ("INSERT INTO", insert(&mut cursor)),
            "update" => ("UPDATE", update(&mut cursor)),
            "delete" => ("DELETE FROM", delete(&mut cursor)),
            "truncate" => ("TRUNCATE", truncate(&mut cursor)),
            "merge" => ("MERGE INTO", merge(&mut cursor)),
            "copy" => ("COPY", copy(&mut cursor)),
            _ => continue,
        };
        let tables = tables.into_iter().flatten();
        found.extend(tables.map(|table| Write { verb, table, line: token.line }));
    }
    found
}

type Tables = Option<Vec<String>>;

fn insert(cursor: &mut Cursor<'_>) -> Tables {
    let table = after_words(cursor, &["into"])?;
    let values = cursor.take_symbol("(")
        || cursor.take_one_of(&["values", "select", "default", "as", "overriding", "with"]);
    values.then(|| vec![table])
}

fn update(cursor: &mut Cursor<'_>) -> Tables {
    cursor.take_words(&["only"]);
    let table = cursor.take_table()?;
    if cursor.take_words(&["set"]) {
        return Some(vec![table]);
    }
    skip_alias(cursor);
    cursor.take_words(&["set"]).then(|| vec![table])
}

fn delete(cursor: &mut Cursor<'_>) -> Tables {
    if !cursor.take_words(&["from"]) {
        return None;
    }
    cursor.take_words(&["only"]);
    let table = cursor.take_table()?;
    if !ends_delete(cursor) {
        skip_alias(cursor);
    }
    ends_delete(cursor).then(|| vec![table])
}

fn ends_delete(cursor: &Cursor<'_>) -> bool {
    cursor.peek().is_none_or(|token| {
        [";", ")"].iter().any(|symbol| token.is_symbol(symbol))
            || ["where", "using", "returning"].iter().any(|word| token.is_word(word))
    })
}

fn truncate(cursor: &mut Cursor<'_>) -> Tables {
    cursor.take_words(&["table"]);
    cursor.take_words(&["only"]);
    let mut tables = vec![cursor.take_table()?];
    while cursor.take_symbol(",") {
        tables.push(cursor.take_table()?);
    }
    let ends = cursor.peek().is_none_or(|token| token.is_symbol(";"))
        || cursor.take_one_of(&["restart", "continue", "cascade", "restrict"]);
    ends.then_some(tables)
}

fn merge(cursor: &mut Cursor<'_>) -> Tables {
    let table = after_words(cursor, &["into"])?;
    if cursor.take_words(&["using"]) {
        return Some(vec![table]);
    }
    skip_alias(cursor);
    cursor.take_words(&["using"]).then(|| vec![table])
}

fn copy(cursor: &mut Cursor<'_>) -> Tables {
    let table = cursor.take_table()?;
    cursor.take_group();
    cursor.take_words(&["from", "stdin"]).then(|| vec![table])
}

fn after_words(cursor: &mut Cursor<'_>, words: &[&str]) -> Option<String> {
    if cursor.take_words(words) { cursor.take_table() } else { None }
}

fn skip_alias(cursor: &mut Cursor<'_>) {
    cursor.take_words(&["as"]);
    cursor.take_name();
}

#[cfg(test)]
mod tests {
    use super::super::tokens;
    use super::*;

    fn targets(text: &str) -> Vec<String> {
        let found = writes(&tokens(text, 1));
        found.iter().map(|write| format!("{} {}", write.verb, write.table)).collect()
    }

    #[test]
    fn every_verb_names_its_table() {
        assert_eq!(targets("INSERT INTO cart (id) VALUES ($1)"), ["INSERT INTO cart"]);
        assert_eq!(targets("insert into cart select 1"), ["INSERT INTO cart"]);
        assert_eq!(targets("UPDATE platform.user SET a = 1"), ["UPDATE platform.user"]);
        assert_eq!(targets("UPDATE ONLY cart AS c SET a = 1"), ["UPDATE cart"]);
        assert_eq!(targets("DELETE FROM cart c WHERE c.id = $1"), ["DELETE FROM cart"]);
        assert_eq!(targets("DELETE FROM cart"), ["DELETE FROM cart"]);
        assert_eq!(targets("TRUNCATE TABLE a, b CASCADE"), ["TRUNCATE a", "TRUNCATE b"]);
        assert_eq!(targets("MERGE INTO cart c USING x ON true"), ["MERGE INTO cart"]);
        assert_eq!(targets("COPY cart (id, name) FROM STDIN"), ["COPY cart"]);
    }

    #[test]
    fn the_statement_after_a_cte_writes_its_own_table() {
        let text = "WITH due AS (SELECT id FROM job FOR UPDATE SKIP LOCKED)
            UPDATE job SET taken = $now FROM due WHERE job.id = due.id";
        assert_eq!(targets(text), ["UPDATE job"]);
        let text = "WITH gone AS (DELETE FROM a RETURNING *) INSERT INTO b SELECT * FROM gone";
        assert_eq!(targets(text), ["DELETE FROM a", "INSERT INTO b"]);
    }

    #[test]
    fn clauses_that_resemble_writes_are_excluded() {
        let text = "INSERT INTO a (x) VALUES (1) ON CONFLICT (x) DO UPDATE SET x = 2";
        assert_eq!(targets(text), ["INSERT INTO a"]);
        for text in [
            "SELECT 1 FROM a FOR UPDATE",
            "SELECT 1 FROM a FOR NO KEY UPDATE OF a",
            "REFERENCES a ON UPDATE CASCADE ON DELETE SET NULL",
            "CREATE TRIGGER t BEFORE INSERT OR UPDATE ON a",
            "GRANT INSERT, UPDATE, DELETE ON a TO souk",
            "update the cart",
            "please delete from the cart what is sold out",
            "truncate long text",
        ] {
            assert_eq!(targets(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_table_chosen_at_run_time_keeps_its_placeholder() {
        assert_eq!(targets("UPDATE {table} SET a = 1"), ["UPDATE {table}"]);
    }
}
