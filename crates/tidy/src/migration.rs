//! The parts of a migration that the rules check.

use crate::{
    source_path::SourcePath,
    sql::{self, Cursor, Token},
};

#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) path: SourcePath,
    pub(crate) tokens: Vec<Token>,
    /// The crate of the `-- owner:` header.
    pub(crate) owner: Option<Note>,
    /// Lines of the form `-- word: text`.
    notes: Vec<(String, Note)>,
    pub(crate) tables: Vec<Table>,
    pub(crate) alterations: Vec<Alteration>,
    pub(crate) indexes: Vec<Index>,
    /// Lines that drop or rename something that the previous release may still use.
    pub(crate) destructive_lines: Vec<usize>,
}

#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// A `CREATE TABLE`.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) columns: Vec<String>,
    pub(crate) key_first_column: Option<String>,
}

/// An `ALTER TABLE`.
#[derive(Debug)]
pub(crate) struct Alteration {
    pub(crate) table: String,
    pub(crate) line: usize,
    pub(crate) enables_row_security: bool,
    pub(crate) forces_row_security: bool,
    /// Lines of added checks that are validated while the table is locked.
    pub(crate) validated_check_lines: Vec<usize>,
}

/// A `CREATE INDEX`.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) table: String,
    pub(crate) line: usize,
    pub(crate) concurrently: bool,
}

impl Migration {
    /// Reads `crates/database/migrations/*.sql`; `None` if the file is something else.
    pub(crate) fn read(path: &SourcePath, text: &str) -> Option<Self> {
        let name = path.as_str().strip_prefix("crates/database/migrations/")?;
        if name.contains('/') || path.extension() != "sql" {
            return None;
        }
        let mut migration = Self {
            path: path.clone(),
            tokens: sql::tokens(text, 1),
            owner: header(text),
            notes: notes(text),
            tables: Vec::new(),
            alterations: Vec::new(),
            indexes: Vec::new(),
            destructive_lines: Vec::new(),
        };
        migration.read_statements();
        Some(migration)
    }

    fn read_statements(&mut self) {
        for (index, token) in self.tokens.iter().enumerate() {
            let cursor = Cursor::new(&self.tokens[index + 1..]);
            if token.is_word("create") {
                self.tables.extend(table(cursor, token.line));
                self.indexes.extend(index_of(cursor, token.line));
            } else if token.is_word("alter") {
                self.alterations.extend(alteration(cursor, token.line));
                self.destructive_lines.extend(destructive_lines(cursor));
            } else if token.is_word("drop") && cursor.clone().take_words(&["table"]) {
                self.destructive_lines.push(token.line);
            }
        }
    }

    /// Returns the notes that start with this keyword.
    pub(crate) fn notes<'m>(&'m self, word: &'m str) -> impl Iterator<Item = &'m Note> {
        self.notes.iter().filter(move |(found, _)| found == word).map(|(_, note)| note)
    }

    pub(crate) fn creates(&self, table: &str) -> bool {
        self.tables.iter().any(|created| created.name == table)
    }
}

/// Reads the `-- owner:` line, which comes first or directly after sqlx's `-- no-transaction`.
fn header(text: &str) -> Option<Note> {
    let (line, first) = text
        .lines()
        .enumerate()
        .find(|(_, line)| !line.trim().is_empty() && line.trim() != "-- no-transaction")?;
    let owner = first.strip_prefix("-- owner:")?.trim();
    Some(Note { text: owner.to_owned(), line: line + 1 })
}

fn notes(text: &str) -> Vec<(String, Note)> {
    let note = |(line, text): (usize, &str)| {
        let (word, text) = text.trim().strip_prefix("-- ")?.split_once(':')?;
        Some((word.to_owned(), Note { text: text.trim().to_owned(), line: line + 1 }))
    };
    text.lines().enumerate().filter_map(note).collect()
}

fn table(mut cursor: Cursor<'_>, line: usize) -> Option<Table> {
    while cursor.take_one_of(&["temp", "temporary", "unlogged", "global", "local"]) {}
    if !cursor.take_words(&["table"]) {
        return None;
    }
    cursor.take_words(&["if", "not", "exists"]);
    let name = cursor.take_table()?;
    let mut table = Table { name, line, columns: Vec::new(), key_first_column: None };
    for part in split_at_commas(cursor.take_group().unwrap_or_default()) {
        table.add_part(part);
    }
    Some(table)
}

impl Table {
    /// Adds a column or a constraint.
    fn add_part(&mut self, part: &[Token]) {
        const CONSTRAINTS: &[&str] =
            &["constraint", "primary", "unique", "check", "foreign", "exclude", "like"];
        let Some(first) = part.first() else { return };
        let is_column = !CONSTRAINTS.iter().any(|word| first.is_word(word));
        if is_column {
            self.columns.push(first.text.clone());
        }
        for index in 0..part.len() {
            let mut cursor = Cursor::new(&part[index..]);
            if cursor.take_words(&["primary", "key"]) {
                let listed = cursor.take_group().and_then(<[Token]>::first);
                let column = if is_column { Some(first) } else { listed };
                self.key_first_column = column.map(|token| token.text.clone());
            }
        }
    }
}

/// Splits a list at its commas, except those inside parentheses.
fn split_at_commas(tokens: &[Token]) -> impl Iterator<Item = &[Token]> {
    let mut depth = 0;
    tokens.split(move |token| {
        depth += i32::from(token.is_symbol("(")) - i32::from(token.is_symbol(")"));
        depth == 0 && token.is_symbol(",")
    })
}

fn index_of(mut cursor: Cursor<'_>, line: usize) -> Option<Index> {
    cursor.take_words(&["unique"]);
    if !cursor.take_words(&["index"]) {
        return None;
    }
    let concurrently = cursor.take_words(&["concurrently"]);
    cursor.take_words(&["if", "not", "exists"]);
    if !cursor.take_words(&["on"]) {
        cursor.take_table()?;
        cursor.take_words(&["on"]);
    }
    cursor.take_words(&["only"]);
    Some(Index { table: cursor.take_table()?, line, concurrently })
}

fn alteration(mut cursor: Cursor<'_>, line: usize) -> Option<Alteration> {
    if !cursor.take_words(&["table"]) {
        return None;
    }
    cursor.take_words(&["if", "exists"]);
    cursor.take_words(&["only"]);
    let table = cursor.take_table()?;
    let statement = cursor.statement();
    let has = |words: &[&str]| {
        (0..statement.len()).any(|index| Cursor::new(&statement[index..]).take_words(words))
    };
    Some(Alteration {
        table,
        line,
        enables_row_security: has(&["enable", "row", "level", "security"]),
        forces_row_security: has(&["force", "row", "level", "security"]),
        validated_check_lines: split_at_commas(statement).filter_map(validated_check).collect(),
    })
}

/// Returns the line of a check that a part of an ALTER adds without NOT VALID.
fn validated_check(part: &[Token]) -> Option<usize> {
    let check = part.iter().position(|token| token.is_word("check"))?;
    let is_added = part.first().is_some_and(|token| token.is_word("add"));
    let is_deferred =
        (check..part.len()).any(|index| Cursor::new(&part[index..]).take_words(&["not", "valid"]));
    (is_added && !is_deferred).then(|| part[check].line)
}

/// Returns the lines of an ALTER that rename anything or drop a column; the keyword COLUMN is optional.
fn destructive_lines(alter: Cursor<'_>) -> Vec<usize> {
    const HARMLESS: &[&str] = &["constraint", "default", "not", "expression", "identity"];
    let is_table = alter.clone().take_words(&["table"]);
    let statement = alter.statement();
    let mut lines = Vec::new();
    for (index, token) in statement.iter().enumerate() {
        let next_is_harmless = Cursor::new(&statement[index + 1..]).take_one_of(HARMLESS);
        let drops_column = is_table && token.is_word("drop") && !next_is_harmless;
        if token.is_word("rename") || drops_column {
            lines.push(token.line);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Migration {
        Migration::read(&SourcePath::new("crates/database/migrations/1_a.sql"), text).unwrap()
    }

    #[test]
    fn the_owner_is_the_first_line_except_for_sqlx_directives() {
        assert_eq!(read("-- owner: carts\n").owner.unwrap().text, "carts");
        assert_eq!(read("-- no-transaction\n-- owner: carts\n").owner.unwrap().line, 2);
        assert!(read("-- Carts.\n-- owner: carts\n").owner.is_none());
    }

    #[test]
    fn tables_have_columns_and_a_key() {
        let migration = read(
            "CREATE TABLE cart (merchant_id uuid NOT NULL, price numeric(10, 2),\n\
             CONSTRAINT k PRIMARY KEY (merchant_id, id), CHECK (price > 0));\n\
             CREATE UNLOGGED TABLE IF NOT EXISTS platform.user (id uuid PRIMARY KEY);",
        );
        let [cart, user] = migration.tables.as_slice() else { panic!("two tables") };
        assert_eq!((cart.name.as_str(), cart.line), ("cart", 1));
        assert_eq!(cart.columns, ["merchant_id", "price"]);
        assert_eq!(cart.key_first_column.as_deref(), Some("merchant_id"));
        assert_eq!((user.name.as_str(), user.line), ("platform.user", 3));
        assert_eq!(user.key_first_column.as_deref(), Some("id"));
    }

    #[test]
    fn indexes_name_their_table_in_every_form() {
        let migration = read(
            "CREATE INDEX ON a (x);\nCREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS i ON ONLY b (x);",
        );
        let found = migration.indexes.iter().map(|i| (i.table.as_str(), i.concurrently));
        assert_eq!(found.collect::<Vec<_>>(), [("a", false), ("b", true)]);
    }

    #[test]
    fn row_security_is_read_from_each_alter() {
        let migration = read(
            "ALTER TABLE a ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;\n\
             ALTER TABLE ONLY b ADD COLUMN c text;",
        );
        let [a, b] = migration.alterations.as_slice() else { panic!("two alterations") };
        assert!(a.enables_row_security && a.forces_row_security);
        assert!(b.table == "b" && !b.enables_row_security && !b.forces_row_security);
    }

    #[test]
    fn destructive_steps_are_found() {
        assert_eq!(read("DROP TABLE a;").destructive_lines, [1]);
        assert_eq!(read("ALTER TABLE a\nDROP COLUMN b;").destructive_lines, [2]);
        assert_eq!(read("ALTER TABLE a DROP IF EXISTS b;").destructive_lines, [1]);
        assert_eq!(read("ALTER TABLE a RENAME TO b;").destructive_lines, [1]);
        assert_eq!(read("ALTER TYPE a RENAME VALUE 'x' TO 'y';").destructive_lines, [1]);
        assert_eq!(read("ALTER TABLE a DROP CONSTRAINT b;").destructive_lines, [0; 0]);
        assert_eq!(read("ALTER TABLE a ALTER b DROP NOT NULL;").destructive_lines, [0; 0]);
        assert_eq!(read("DROP FUNCTION a;").destructive_lines, [0; 0]);
    }
}
