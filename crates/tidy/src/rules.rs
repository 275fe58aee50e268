//! The rules, one file each.

mod citations;
mod clock;
mod crate_layout;
mod dependencies;
mod docs;
mod homes;
mod migrations;
mod names;
mod platform;
mod retired;
mod size;
mod sql_home;
mod tables;
mod text_hygiene;

use crate::{Finding, Workspace};

/// Applies every rule and returns the findings, sorted by path and line.
#[must_use]
pub fn check(workspace: &Workspace) -> Vec<Finding> {
    let rules: [fn(&Workspace) -> Vec<Finding>; 15] = [
        unreadable,
        dependencies::check,
        tables::check,
        migrations::check,
        clock::check,
        sql_home::check,
        platform::check,
        size::check,
        names::check,
        crate_layout::check,
        text_hygiene::check,
        docs::check,
        homes::check,
        retired::check,
        citations::check,
    ];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(workspace)).collect();
    findings.sort();
    findings.dedup();
    findings
}

/// Describes what was checked: sizes, retired words and citations.
#[must_use]
pub fn summary(workspace: &Workspace) -> String {
    let (size, retired) = (workspace.summary(), retired::count(workspace));
    format!("{size}, {retired} retired words; {}", citations::summary(workspace))
}

/// Reports files that cannot be parsed, which would otherwise pass every rule.
fn unreadable(workspace: &Workspace) -> Vec<Finding> {
    let manifests =
        workspace.manifests.iter().map(|manifest| (&manifest.path, &manifest.parse_error));
    let rust = workspace.rust.iter().map(|file| (&file.path, &file.parse_error));
    let finding = |(path, parse_error): (_, &Option<(usize, String)>)| {
        let (line, reason) = parse_error.as_ref()?;
        Some(Finding::new(path, *line, format!("syntax error: {reason}")))
    };
    manifests.chain(rust).filter_map(finding).collect()
}

/// Runs one rule over sample files and returns its findings as lines.
#[cfg(test)]
fn findings(rule: fn(&Workspace) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    let workspace = Workspace::of(files.iter().copied());
    rule(&workspace).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_applied() {
        let workspace = Workspace::of([
            (
                "crates/carts/Cargo.toml",
                "[package]\nname = \"carts\"\n[dependencies]\norders = \"1\"",
            ),
            ("crates/carts/src/lib.rs", "fn a() { sqlx::query(\"UPDATE job SET a = now()\"); }"),
            ("crates/carts/src/mod.rs", "fn a() { Work::for_platform(); }"),
            ("crates/carts/src/long.rs", &"\n".repeat(501)),
            ("crates/carts/src/broken.rs", "fn"),
            ("crates/carts/src/cart.rs", concat!("pub fn a() { format!(\"{:02", "x}\", 1); }")),
            ("crates/tidy/retired.txt", "OldName"),
            ("crates/database/migrations/1.sql", "-- owner: jobs\nDROP TABLE job;"),
            ("docs/a.md", concat!("TO", "DO: write this")),
            ("docs/b.md", "OldName"),
            ("docs/c.md", concat!("docs/", "contract/none.md")),
        ]);
        let all = check(&workspace).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        for part in [
            "syntax error",
            "may not depend on `orders`",
            "UPDATE `job`",
            "-- contract:",
            "now()",
            "table.rs",
            "for_platform",
            "501 lines",
            "no mod.rs",
            "README.md",
            "docs/a.md:1:",
            "no doc comment",
            "`hex` crate",
            "`OldName` is retired",
            "none.md does not exist",
        ] {
            assert!(all.contains(part), "no finding contains {part}:\n{all}");
        }
    }

    #[test]
    fn a_syntax_error_is_a_finding() {
        let found =
            findings(unreadable, &[("crates/a/src/a.rs", "fn"), ("crates/a/Cargo.toml", "[")]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(findings(unreadable, &[("crates/a/src/a.rs", "fn a() {}")]).is_empty());
    }
}
