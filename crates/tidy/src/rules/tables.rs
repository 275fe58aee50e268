//! A crate writes only its own tables. The migration's `-- owner:` header names the owner.

use std::collections::BTreeMap;

use crate::{Finding, Workspace, layers, migration::Migration, source_path::SourcePath, sql};

/// Crates that create and inspect any state.
const EXEMPT: &[&str] = &["proof", "testkit"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let (owners, mut findings) = Owners::read(workspace);
    for migration in &workspace.migrations {
        let Some(owner) = &migration.owner else {
            continue;
        };
        let mut check_owner = |table: &str, line: usize, verb: &str| {
            findings.extend(owners.violation(&migration.path, line, &owner.text, verb, table));
        };
        for alteration in &migration.alterations {
            check_owner(&alteration.table, alteration.line, "ALTER TABLE");
        }
        for index in &migration.indexes {
            check_owner(&index.table, index.line, "CREATE INDEX ON");
        }
        for write in sql::writes(&migration.tokens) {
            check_owner(&write.table, write.line, write.verb);
        }
    }
    for text in workspace.sql.iter().filter(|text| !EXEMPT.contains(&text.krate.as_str())) {
        for sql::Write { verb, table, line } in sql::writes(&text.tokens) {
            findings.extend(owners.violation(&text.path, line, &text.krate, verb, &table));
        }
    }
    findings
}

/// The owning crate of each table.
struct Owners<'h>(BTreeMap<&'h str, &'h str>);

impl<'h> Owners<'h> {
    fn read(workspace: &'h Workspace) -> (Self, Vec<Finding>) {
        let mut owners = BTreeMap::new();
        let mut findings = Vec::new();
        for migration in &workspace.migrations {
            let owner = match owner(migration) {
                Ok(owner) => owner,
                Err(finding) => {
                    findings.push(finding);
                    continue;
                }
            };
            for table in &migration.tables {
                let first = *owners.entry(table.name.as_str()).or_insert(owner);
                if first != owner {
                    let message = format!("`{}` already belongs to `{first}`", table.name);
                    findings.push(Finding::new(&migration.path, table.line, message));
                }
            }
        }
        (Self(owners), findings)
    }

    /// Returns the owner of a table; an unqualified name matches a table in any schema.
    fn of(&self, table: &str) -> Option<&'h str> {
        let in_schema = || {
            let mut all = self.0.iter();
            all.find(|(name, _)| name.rsplit_once('.').is_some_and(|(_, last)| last == table))
        };
        self.0.get_key_value(table).or_else(in_schema).map(|(_, owner)| *owner)
    }

    fn violation(
        &self,
        path: &SourcePath,
        line: usize,
        krate: &str,
        verb: &str,
        table: &str,
    ) -> Option<Finding> {
        let message = match self.of(table) {
            Some(owner) if owner == krate => return None,
            Some(owner) => format!(
                "{verb} `{table}`, which belongs to `{owner}`: `{krate}` writes only its own \
                 tables, so call a function of `{owner}`"
            ),
            None if table.starts_with('{') => {
                format!("{verb} `{table}`: tidy cannot resolve the table; write its name literally")
            }
            None => format!("{verb} `{table}`, which no migration creates: correct the name"),
        };
        Some(Finding::new(path, line, message))
    }
}

fn owner(migration: &Migration) -> Result<&str, Finding> {
    let Some(note) = &migration.owner else {
        let message = "no owner: start the file with `-- owner: <crate>`";
        return Err(Finding::new(&migration.path, 1, message));
    };
    if layers::find(&note.text).is_none() {
        let message = format!("owner `{}` is not a crate: name one of layers.rs", note.text);
        return Err(Finding::new(&migration.path, note.line, message));
    }
    Ok(&note.text)
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    const CARTS: (&str, &str) =
        ("crates/database/migrations/1_carts.sql", "-- owner: carts\nCREATE TABLE cart (id uuid);");
    const JOBS: (&str, &str) = (
        "crates/database/migrations/2_jobs.sql",
        "-- owner: jobs\nCREATE TABLE IF NOT EXISTS platform.job (id uuid);",
    );

    fn in_migration(text: &str) -> Vec<String> {
        findings(check, &[CARTS, JOBS, ("crates/database/migrations/3_more.sql", text)])
    }

    fn in_crate(path: &str, sql: &str) -> Vec<String> {
        let text = format!("fn a() {{\n    sqlx::query!(r#\"{sql}\"#);\n}}");
        findings(check, &[CARTS, JOBS, (path, &text)])
    }

    #[test]
    fn a_migration_names_an_existing_owner() {
        assert!(in_migration("CREATE TABLE x (id uuid);")[0].contains("no owner"));
        assert!(in_migration("-- owner: baskets\n")[0].contains("`baskets` is not a crate"));
        assert_eq!(in_migration("-- owner: orders\nCREATE TABLE x (id uuid);"), [""; 0]);
    }

    #[test]
    fn a_migration_changes_only_tables_of_its_owner() {
        let found = in_migration("-- owner: orders\n\nALTER TABLE cart ADD COLUMN a text;");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("3_more.sql:3: ALTER TABLE `cart`, which belongs to `carts`"));
        assert_eq!(in_migration("-- owner: carts\nALTER TABLE cart ADD a text;"), [""; 0]);
        assert_eq!(in_migration("-- owner: orders\nCREATE INDEX ON cart (id);").len(), 1);
        assert_eq!(in_migration("-- owner: orders\nUPDATE cart SET id = NULL;").len(), 1);
        assert_eq!(in_migration("-- owner: orders\nCREATE TABLE cart (id uuid);").len(), 1);
    }

    #[test]
    fn a_crate_writes_only_its_own_tables() {
        let table = "crates/carts/src/table.rs";
        assert_eq!(in_crate(table, "UPDATE cart SET id = $1"), [""; 0]);
        let found = in_crate(table, "SELECT 1;\nDELETE FROM platform.job WHERE id = $1");
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("table.rs:3: DELETE FROM `platform.job`"), "{found:?}");
        let found = in_crate(table, "INSERT INTO job (id) VALUES ($1)");
        assert!(found[0].contains("which belongs to `jobs`"), "{found:?}");
        assert_eq!(in_crate(table, "SELECT 1 FROM platform.job FOR UPDATE"), [""; 0]);
    }

    #[test]
    fn unknown_and_computed_tables_are_refused() {
        let table = "crates/carts/src/table.rs";
        assert!(in_crate(table, "UPDATE basket SET a = 1")[0].contains("no migration creates"));
        assert!(
            in_crate(table, "UPDATE {table} SET a = 1")[0].contains("write its name literally")
        );
    }

    #[test]
    fn tests_and_test_crates_may_write_any_table() {
        let write = "UPDATE cart SET id = $1";
        assert_eq!(in_crate("crates/orders/tests/it/main.rs", write), [""; 0]);
        assert_eq!(in_crate("crates/testkit/src/fixture.rs", write), [""; 0]);
        assert_eq!(in_crate("crates/proof/src/main.rs", write), [""; 0]);
        assert_eq!(in_crate("crates/orders/src/table.rs", write).len(), 1);
    }
}
