//! Row-level security is off under the platform role, so who may open it is a list.

use crate::{Finding, House, source_path::SourcePath};

/// Where the platform role may be opened, and why there.
const MAY_OPEN: &[(&str, &str)] = &[
    ("crates/database/", "it defines the role and its transactions"),
    ("crates/jobs/", "workers claim the jobs of every merchant"),
    ("crates/merchants/src/directory.rs", "the directory lists stores, not one store"),
    ("crates/merchants/src/resolve.rs", "a slug is resolved before its merchant is known"),
    ("crates/identity/", "people and keys are the platform's, in tables that no store may read"),
    (
        "crates/catalog/src/read.rs",
        "an agent names a product without its store, and deals are of all stores",
    ),
    ("crates/checkout/src/abandon.rs", "sessions of every store run out of time"),
    ("crates/checkout/src/forget.rs", "it looks for the stores at which sandboxes played"),
    ("crates/checkout/src/read.rs", "an agent names a checkout without its store"),
    ("crates/checkout/src/pay.rs", "payments of every store are asked for again"),
    ("crates/carts/src/read.rs", "an agent names a cart without its store"),
    ("crates/search/", "the index, the roster and the tallies are of all stores"),
    ("crates/trust/", "it compares and judges every store of the cell"),
    ("crates/server/src/", "commands and health checks act for the operator"),
    ("crates/demo/src/seed.rs", "it creates merchants, so none exists yet"),
    ("crates/testkit/", "fixtures set up any state"),
    ("crates/proof/", "proofs inspect any state"),
];

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in house.rust.iter().filter(|file| file.path.in_src() && !may_open(&file.path)) {
        let lines = file.facts.platform_lines.iter().filter(|line| !file.is_test(**line));
        for line in lines {
            let message = "for_platform sees every merchant: use for_store, or add this file with \
                           a reason to the list in tidy's platform.rs";
            findings.push(Finding::new(&file.path, *line, message));
        }
    }
    findings
}

fn may_open(path: &SourcePath) -> bool {
    MAY_OPEN.iter().any(|(place, _)| path.as_str().starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn at(path: &str) -> Vec<String> {
        findings(check, &[(path, "fn a() {\n    Work::for_platform(db);\n}")])
    }

    #[test]
    fn only_listed_places_open_the_platform_role() {
        let found = at("crates/carts/src/create.rs");
        assert!(found.len() == 1 && found[0].contains("create.rs:2: for_platform"), "{found:?}");
        assert_eq!(at("crates/merchants/src/settings.rs").len(), 1);
        for (place, reason) in MAY_OPEN {
            let file = if place.ends_with('/') { "src/a.rs" } else { "" };
            assert_eq!(at(&format!("{place}{file}")), [""; 0]);
            assert!(!reason.is_empty(), "{place} has no reason");
        }
    }

    #[test]
    fn tests_may_open_it() {
        assert_eq!(at("crates/carts/tests/it/main.rs"), [""; 0]);
        let inline = "#[cfg(test)]\nmod tests {\n fn a() { Work::for_platform(db); }\n}";
        assert_eq!(findings(check, &[("crates/carts/src/create.rs", inline)]), [""; 0]);
    }
}
