//! Migrations run while the previous release still serves, and tenant tables are isolated from the
//! migration that creates them on.

use crate::{
    Finding, Workspace,
    migration::{Migration, Table},
};

/// The first migration that may not validate a check while the table is locked; earlier ones are released.
const FIRST_WITHOUT_CHECKS: &str = "crates/database/migrations/20261117000100";

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace.migrations.iter().flat_map(check_migration).collect()
}

fn check_migration(migration: &Migration) -> Vec<Finding> {
    let mut findings = destructive(migration);
    findings.extend(locking_indexes(migration));
    findings.extend(locking_checks(migration));
    for table in migration.tables.iter().filter(|table| is_tenant(table)) {
        if !is_cell_wide(migration, table) {
            findings.extend(missing_isolation(migration, table));
        }
    }
    findings
}

fn destructive(migration: &Migration) -> Vec<Finding> {
    if migration.notes("contract").any(|note| !note.text.is_empty()) {
        return Vec::new();
    }
    let message = "drops or renames what the previous release may still use: stop using it first, \
                   then give the reason in a line `-- contract: <reason>`";
    let lines = migration.destructive_lines.iter();
    lines.map(|line| Finding::new(&migration.path, *line, message)).collect()
}

fn locking_indexes(migration: &Migration) -> Vec<Finding> {
    let locks = migration
        .indexes
        .iter()
        .filter(|index| !index.concurrently && !migration.creates(&index.table));
    let message = |table: &str| {
        format!(
            "creating an index on `{table}` blocks its writers: use CREATE INDEX CONCURRENTLY, in \
             a file of its own that starts with `-- no-transaction`"
        )
    };
    locks.map(|index| Finding::new(&migration.path, index.line, message(&index.table))).collect()
}

fn locking_checks(migration: &Migration) -> Vec<Finding> {
    if migration.path.as_str() < FIRST_WITHOUT_CHECKS {
        return Vec::new();
    }
    let message = |table: &str| {
        format!(
            "a check on `{table}` reads the whole table while it is locked: add it as a constraint \
             with NOT VALID, and validate it in a later migration"
        )
    };
    let existing = migration.alterations.iter().filter(|it| !migration.creates(&it.table));
    let finding = |table: &str, line: usize| Finding::new(&migration.path, line, message(table));
    existing
        .flat_map(|it| it.validated_check_lines.iter().map(|line| finding(&it.table, *line)))
        .collect()
}

fn is_tenant(table: &Table) -> bool {
    !table.name.starts_with("platform.") && table.columns.iter().any(|name| name == "merchant_id")
}

/// Whether a note with a reason marks the table as shared by all tenants of the cell.
fn is_cell_wide(migration: &Migration, table: &Table) -> bool {
    migration.notes("cell-wide").any(|note| {
        // A note without a reason is ignored.
        let name = note.text.split_once(' ').map(|(name, _reason)| name);
        name == Some(table.name.as_str())
    })
}

fn missing_isolation(migration: &Migration, table: &Table) -> Vec<Finding> {
    let name = &table.name;
    let mine = || migration.alterations.iter().filter(|alteration| alteration.table == *name);
    let mut findings = Vec::new();
    let mut report = |message: String| {
        findings.push(Finding::new(&migration.path, table.line, message));
    };
    if !mine().any(|alteration| alteration.enables_row_security) {
        report(format!("add ALTER TABLE {name} ENABLE ROW LEVEL SECURITY: it has a merchant_id"));
    }
    if !mine().any(|alteration| alteration.forces_row_security) {
        report(format!("add ALTER TABLE {name} FORCE ROW LEVEL SECURITY: it has a merchant_id"));
    }
    if table.key_first_column.as_deref() != Some("merchant_id") {
        report(format!(
            "the primary key of `{name}` must start with merchant_id, so that a tenant can move \
             to another cell; otherwise add a line `-- cell-wide: {name} <reason>`"
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn of(text: &str) -> Vec<String> {
        findings(check, &[("crates/database/migrations/1_carts.sql", text)])
    }

    #[test]
    fn destructive_steps_need_a_reason() {
        assert!(of("-- owner: carts\nDROP TABLE cart;")[0].contains(".sql:2: drops or renames"));
        assert_eq!(of("ALTER TABLE cart DROP COLUMN a;").len(), 1);
        assert_eq!(of("-- contract:\nALTER TABLE cart RENAME a TO b;").len(), 1);
        assert_eq!(of("-- contract: unread since 0.4\nDROP TABLE cart;"), [""; 0]);
    }

    #[test]
    fn indexes_on_existing_tables_are_built_concurrently() {
        assert!(of("CREATE INDEX i ON cart (a);")[0].contains("CONCURRENTLY"));
        assert_eq!(of("CREATE INDEX CONCURRENTLY i ON cart (a);"), [""; 0]);
        assert_eq!(of("CREATE TABLE cart (a text); CREATE INDEX i ON cart (a);"), [""; 0]);
    }

    #[test]
    fn checks_on_existing_tables_are_not_validated_at_once() {
        let of = |text| {
            findings(check, &[("crates/database/migrations/20261117000100_carts.sql", text)])
        };
        let found = of("ALTER TABLE cart\nADD COLUMN a int CHECK (a IN (1, 2)), ADD COLUMN b int;");
        assert!(found.len() == 1 && found[0].contains(".sql:2: a check on `cart`"), "{found:?}");
        assert_eq!(
            of("ALTER TABLE cart ADD CONSTRAINT c CHECK (a > 0), DROP CONSTRAINT d;").len(),
            1
        );
        assert_eq!(of("ALTER TABLE cart ADD CONSTRAINT c CHECK (a > 0) NOT VALID;"), [""; 0]);
        assert_eq!(of("ALTER TABLE cart VALIDATE CONSTRAINT cart_check;"), [""; 0]);
        assert_eq!(of("CREATE TABLE cart (a int); ALTER TABLE cart ADD CHECK (a > 0);"), [""; 0]);
        let released = "crates/database/migrations/20261117000010_carts.sql";
        let found = findings(check, &[(released, "ALTER TABLE cart ADD CHECK (a > 0);")]);
        assert_eq!(found, [""; 0]);
    }

    const ISOLATED: &str = "CREATE TABLE cart (merchant_id uuid, id uuid,
        PRIMARY KEY (merchant_id, id));
        ALTER TABLE cart ENABLE ROW LEVEL SECURITY;
        ALTER TABLE cart FORCE ROW LEVEL SECURITY;";

    #[test]
    fn tenant_tables_are_isolated() {
        assert_eq!(of(ISOLATED), [""; 0]);
        assert!(
            of(&ISOLATED.replace("ENABLE", "DISABLE"))[0].contains("add ALTER TABLE cart ENABLE")
        );
        assert!(of(&ISOLATED.replace("FORCE", "NO"))[0].contains("add ALTER TABLE cart FORCE"));
        let other = ISOLATED.replace("ALTER TABLE cart", "ALTER TABLE basket");
        assert_eq!(of(&other).len(), 2);
    }

    #[test]
    fn the_key_of_a_tenant_table_starts_with_the_merchant() {
        let found = of(&ISOLATED.replace("(merchant_id, id)", "(id, merchant_id)"));
        assert!(found.len() == 1 && found[0].contains("must start with merchant_id"), "{found:?}");
        assert_eq!(of(&ISOLATED.replace("PRIMARY KEY", "UNIQUE")).len(), 1);
    }

    #[test]
    fn platform_and_cell_wide_tables_need_no_isolation() {
        let queue = "CREATE TABLE job (id uuid PRIMARY KEY, merchant_id uuid);";
        assert_eq!(of(queue).len(), 3);
        assert_eq!(
            of(&format!("-- cell-wide: job workers claim across merchants\n{queue}")),
            [""; 0]
        );
        assert_eq!(of(&format!("-- cell-wide: job\n{queue}")).len(), 3);
        assert_eq!(of(&format!("-- cell-wide: cart of all\n{queue}")).len(), 3);
        assert_eq!(of(&queue.replace("job", "platform.job")), [""; 0]);
        assert_eq!(of("CREATE TABLE currency (code text PRIMARY KEY);"), [""; 0]);
    }
}
