//! The platform role bypasses row-level security, so the files that may use it are listed.

use crate::{Finding, Workspace, source_path::SourcePath};

/// Files and directories that may use the platform role, with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/database/", "defines the role and its transactions"),
    ("crates/jobs/", "workers claim the jobs of every merchant"),
    ("crates/merchants/src/directory.rs", "the directory lists stores, not one store"),
    ("crates/merchants/src/resolve.rs", "a slug is resolved before its merchant is known"),
    (
        "crates/merchants/src/put_settings.rs",
        "an owner changes what the role of stores may not write, with an audit entry",
    ),
    (
        "crates/merchants/src/own_store.rs",
        "an owner changes what the role of stores may not write, with a notice",
    ),
    ("crates/identity/", "accounts and keys are platform tables that no store may read"),
    (
        "crates/catalog/src/read.rs",
        "agents address products without their store, and deals span all stores",
    ),
    ("crates/catalog/src/end_orphaned_runs.rs", "ends the abandoned feed runs of every store"),
    ("crates/catalog/src/purge_feed_files.rs", "deletes the files of every store"),
    ("crates/checkout/src/cancel.rs", "an operator releases a hold, with an audit entry"),
    ("crates/checkout/src/expire.rs", "expires sessions of every store"),
    ("crates/checkout/src/purge.rs", "finds the stores that hold sandbox data"),
    ("crates/checkout/src/read.rs", "agents address checkouts without their store"),
    ("crates/checkout/src/reconcile.rs", "reconciles payments of every store"),
    ("crates/orders/src/administer.rs", "acts for an administrator of the platform"),
    ("crates/orders/src/read.rs", "agents address orders without their store"),
    (
        "crates/orders/src/read_disputes.rs",
        "administrators list and decide disputes of every store",
    ),
    ("crates/carts/src/read.rs", "agents address carts without their store"),
    ("crates/webhooks/src/dispatcher/", "delivers for every store"),
    (
        "crates/webhooks/src/endpoints.rs",
        "a merchant's change of an endpoint has an entry in the audit log",
    ),
    ("crates/webhooks/src/probe.rs", "an operator probes the endpoints of every store"),
    ("crates/search/", "the index, the store directory and the query statistics span all stores"),
    ("crates/trust/", "scores every store of the cell"),
    ("crates/rest/src/admin_jobs.rs", "acts for an administrator of the platform"),
    ("crates/rest/src/admin_keys.rs", "acts for an administrator of the platform"),
    ("crates/rest/src/admin_people.rs", "acts for an administrator of the platform"),
    ("crates/rest/src/admin_quotas.rs", "acts for an administrator of the platform"),
    ("crates/rest/src/admin_stores.rs", "acts for an administrator of the platform"),
    ("crates/server/src/", "commands and health checks act for the operator"),
    ("crates/demo/src/seed.rs", "creates merchants"),
    ("crates/testkit/", "fixtures create any state"),
    ("crates/proof/", "proofs inspect any state"),
];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in workspace.rust.iter().filter(|file| file.path.in_src() && !is_allowed(&file.path)) {
        let lines = file.facts.platform_lines.iter().filter(|line| !file.is_test(**line));
        for line in lines {
            let message = "for_platform and as_platform bypass row-level security: use for_store, or add this file \
                           with a reason to the list in tidy's platform.rs";
            findings.push(Finding::new(&file.path, *line, message));
        }
    }
    findings
}

fn is_allowed(path: &SourcePath) -> bool {
    ALLOWED.iter().any(|(prefix, _)| path.as_str().starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::findings;
    use super::*;

    fn at(path: &str) -> Vec<String> {
        findings(check, &[(path, "fn a() {\n    Work::for_platform(db);\n}")])
    }

    #[test]
    fn only_listed_files_use_the_platform_role() {
        let found = at("crates/carts/src/create.rs");
        assert!(found.len() == 1 && found[0].contains("create.rs:2: for_platform"), "{found:?}");
        assert_eq!(at("crates/merchants/src/settings.rs").len(), 1);
        for (path, reason) in ALLOWED {
            let file = if path.ends_with('/') { "src/a.rs" } else { "" };
            assert_eq!(at(&format!("{path}{file}")), [""; 0]);
            assert!(!reason.is_empty(), "{path} has no reason");
        }
    }

    #[test]
    fn every_listed_path_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (path, _) in ALLOWED {
            assert!(root.join(path).exists(), "{path} does not exist");
        }
    }

    #[test]
    fn tests_may_use_it() {
        assert_eq!(at("crates/carts/tests/it/main.rs"), [""; 0]);
        let inline = "#[cfg(test)]\nmod tests {\n fn a() { Work::for_platform(db); }\n}";
        assert_eq!(findings(check, &[("crates/carts/src/create.rs", inline)]), [""; 0]);
    }
}
