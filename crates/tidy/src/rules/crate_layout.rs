//! A crate has a README, which is also its rustdoc, and inherits the lints of the workspace.

use crate::{Finding, Workspace, manifest::Manifest, source_path::SourcePath};

const FIRST_LINE: &str = r#"#![doc = include_str!("../README.md")]"#;

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace.manifests.iter().flat_map(|manifest| check_crate(workspace, manifest)).collect()
}

fn check_crate(workspace: &Workspace, manifest: &Manifest) -> Vec<Finding> {
    let krate = &manifest.krate;
    let mut findings = Vec::new();
    if workspace.text(&format!("crates/{krate}/README.md")).is_none() {
        let message = format!("`{krate}` has no README.md: describe the crate on one page");
        findings.push(Finding::new(&manifest.path, 1, message));
    }
    if !manifest.inherits_lints && manifest.parse_error.is_none() {
        let message = format!("`{krate}` sets its own lints: add `[lints]` `workspace = true`");
        findings.push(Finding::new(&manifest.path, 1, message));
    }
    // The root of a crate without a library is its binary.
    let candidates = ["lib", "main"].map(|name| format!("crates/{krate}/src/{name}.rs"));
    let root = candidates.iter().find_map(|path| workspace.text(path));
    if root.is_none_or(|root| root.text.lines().next() != Some(FIRST_LINE)) {
        let path = root.map_or_else(|| SourcePath::new(&candidates[0]), |root| root.path.clone());
        let message =
            format!("the README is the crate's rustdoc: start the file with {FIRST_LINE}");
        findings.push(Finding::new(&path, 1, message));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    const README: (&str, &str) = ("crates/carts/README.md", "# carts");
    const MANIFEST: (&str, &str) = ("crates/carts/Cargo.toml", "[lints]\nworkspace = true");
    const LIB: (&str, &str) = ("crates/carts/src/lib.rs", FIRST_LINE);

    #[test]
    fn a_complete_crate_has_no_findings() {
        assert_eq!(findings(check, &[README, MANIFEST, LIB]), [""; 0]);
        let main = ("crates/carts/src/main.rs", FIRST_LINE);
        assert_eq!(findings(check, &[README, MANIFEST, main]), [""; 0]);
    }

    #[test]
    fn a_readme_is_required() {
        let found = findings(check, &[MANIFEST, LIB]);
        assert!(found.len() == 1 && found[0].contains("has no README.md"), "{found:?}");
    }

    #[test]
    fn the_readme_is_the_rustdoc() {
        for lib in ["", "//! Carts.\n#![doc = include_str!(\"../README.md\")]"] {
            let found = findings(check, &[README, MANIFEST, ("crates/carts/src/lib.rs", lib)]);
            assert!(found.len() == 1 && found[0].contains("lib.rs:1: the README"), "{found:?}");
        }
        assert_eq!(findings(check, &[README, MANIFEST]).len(), 1);
    }

    #[test]
    fn lints_are_inherited() {
        for manifest in ["", "[lints]\nworkspace = false", "[lints.rust]\nunsafe_code = \"deny\""] {
            let found = findings(check, &[README, ("crates/carts/Cargo.toml", manifest), LIB]);
            assert!(found.len() == 1 && found[0].contains("sets its own lints"), "{found:?}");
        }
    }
}
