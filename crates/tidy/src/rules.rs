//! The rules, one file each.

mod clock;
mod direction;
mod doors;
mod migrations;
mod names;
mod platform;
mod size;
mod sql_home;
mod tables;
mod words;

use crate::{Finding, House};

/// Applies every rule; findings are sorted by place.
#[must_use]
pub fn check(house: &House) -> Vec<Finding> {
    let rules: [fn(&House) -> Vec<Finding>; 11] = [
        unreadable,
        direction::check,
        tables::check,
        migrations::check,
        clock::check,
        sql_home::check,
        platform::check,
        size::check,
        names::check,
        doors::check,
        words::check,
    ];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(house)).collect();
    findings.sort();
    findings.dedup();
    findings
}

/// A file that cannot be parsed would otherwise pass every rule.
fn unreadable(house: &House) -> Vec<Finding> {
    let manifests = house.manifests.iter().map(|manifest| (&manifest.path, &manifest.broken));
    let rust = house.rust.iter().map(|file| (&file.path, &file.broken));
    let finding = |(path, broken): (_, &Option<(usize, String)>)| {
        let (line, why) = broken.as_ref()?;
        Some(Finding::new(path, *line, format!("tidy cannot read this file: {why}; repair it")))
    };
    manifests.chain(rust).filter_map(finding).collect()
}

/// Runs one rule over sample files and returns its findings as lines.
#[cfg(test)]
fn findings(rule: fn(&House) -> Vec<Finding>, files: &[(&str, &str)]) -> Vec<String> {
    let house = House::of(files.iter().copied());
    rule(&house).iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_takes_part() {
        let house = House::of([
            (
                "crates/carts/Cargo.toml",
                "[package]\nname = \"carts\"\n[dependencies]\norders = \"1\"",
            ),
            ("crates/carts/src/lib.rs", "fn a() { sqlx::query(\"UPDATE job SET a = now()\"); }"),
            ("crates/carts/src/mod.rs", "fn a() { Work::for_platform(); }"),
            ("crates/carts/src/long.rs", &"\n".repeat(501)),
            ("crates/carts/src/broken.rs", "fn"),
            ("crates/database/migrations/1.sql", "-- owner: jobs\nDROP TABLE job;"),
            ("docs/a.md", concat!("TO", "DO: write this")),
        ]);
        let all = check(&house).iter().map(ToString::to_string).collect::<Vec<_>>().join(
            "
",
        );
        for part in [
            "cannot read this file",
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
        ] {
            assert!(all.contains(part), "no finding says {part}:\n{all}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_finding() {
        let found =
            findings(unreadable, &[("crates/a/src/a.rs", "fn"), ("crates/a/Cargo.toml", "[")]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(findings(unreadable, &[("crates/a/src/a.rs", "fn a() {}")]).is_empty());
    }
}
