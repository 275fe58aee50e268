//! All SQL of a crate is in its `table.rs`.

use crate::{Finding, Workspace, source_path::SourcePath};

/// Crates that implement database access, or are not part of the running system.
const EXEMPT: &[&str] = &["database", "testkit", "proof"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.rust.iter().filter(|file| !is_home(&file.path)) {
        for line in &file.facts.query_lines {
            let message = "SQL outside table.rs: move it into the crate's table.rs";
            findings.push(Finding::new(&file.path, *line, message));
        }
    }
    findings
}

fn is_home(path: &SourcePath) -> bool {
    let name = path.file_name();
    // `jobs` splits its SQL by table: `table_of_schedules.rs`.
    let is_table = name == "table.rs" || path.krate() == Some("jobs") && name.starts_with("table");
    is_table
        || path.directories().any(|directory| directory == "table")
        || path.is_test()
        || path.krate().is_some_and(|krate| EXEMPT.contains(&krate))
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn at(path: &str) -> usize {
        findings(check, &[(path, "fn a() {\n    sqlx::query!(\"SELECT 1\");\n}")]).len()
    }

    #[test]
    fn queries_are_in_the_table_module() {
        assert_eq!(at("crates/carts/src/table.rs"), 0);
        assert_eq!(at("crates/catalog/src/table/prices.rs"), 0);
        assert_eq!(at("crates/jobs/src/queue/table_claims.rs"), 0);
        assert_eq!(at("crates/carts/src/create.rs"), 1);
        assert_eq!(at("crates/carts/src/table_claims.rs"), 1);
        assert_eq!(at("crates/carts/src/tables/a.rs"), 1);
    }

    #[test]
    fn exempt_crates_and_tests_may_query_anywhere() {
        assert_eq!(at("crates/database/src/work.rs"), 0);
        assert_eq!(at("crates/testkit/src/fixture.rs"), 0);
        assert_eq!(at("crates/proof/src/main.rs"), 0);
        assert_eq!(at("crates/carts/tests/it/main.rs"), 0);
    }

    #[test]
    fn the_finding_has_the_line() {
        let found = findings(check, &[("crates/a/src/b.rs", "\nuse sqlx::query;")]);
        assert!(found[0].starts_with("crates/a/src/b.rs:2: SQL outside table.rs"), "{found:?}");
    }
}
