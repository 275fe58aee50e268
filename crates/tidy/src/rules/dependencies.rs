//! A crate depends only on the crates that its row in `layers.rs` allows.

use super::names::EMPTY_NAMES;
use crate::{Finding, Workspace, layers, manifest::Manifest};

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let is_workspace_crate = |name: &str| {
        layers::find(name).is_some() || workspace.manifests.iter().any(|other| other.krate == name)
    };
    workspace
        .manifests
        .iter()
        .flat_map(|manifest| check_manifest(manifest, is_workspace_crate))
        .collect()
}

fn check_manifest(manifest: &Manifest, is_workspace_crate: impl Fn(&str) -> bool) -> Vec<Finding> {
    let krate = &manifest.krate;
    let at_top = |message: String| vec![Finding::new(&manifest.path, 1, message)];
    if EMPTY_NAMES.contains(&krate.as_str()) {
        return at_top(format!("`{krate}` does not describe its content: name its subject"));
    }
    if manifest.package != *krate {
        let package = &manifest.package;
        return at_top(format!(
            "package `{package}` is in `crates/{krate}`: use the same name for both"
        ));
    }
    let Some(row) = layers::find(krate) else {
        return at_top(format!("`{krate}` has no row in layers.rs: add one"));
    };
    let mut findings = Vec::new();
    for dependency in
        manifest.dependencies.iter().filter(|dependency| is_workspace_crate(&dependency.name))
    {
        let used = &dependency.name;
        let allowed =
            if dependency.for_tests { row.may_use_in_tests(used) } else { row.may_use(used) };
        if !allowed {
            let message = format!(
                "`{krate}` may not depend on `{used}`: dependencies point down the layers; move the \
                 code to a crate that depends on both, or change layers.rs deliberately"
            );
            findings.push(Finding::new(&manifest.path, dependency.line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn of(krate: &str, body: &str) -> Vec<String> {
        let path = format!("crates/{krate}/Cargo.toml");
        findings(check, &[(&path, &format!("[package]\nname = \"{krate}\"\n{body}"))])
    }

    #[test]
    fn a_crate_may_use_lower_layers() {
        let below = "[dependencies]\nprimitives = \"1\"\ncatalog.workspace = true\nserde = \"1\"";
        assert_eq!(of("carts", below), [""; 0]);
    }

    #[test]
    fn a_crate_may_not_use_its_own_or_a_higher_layer() {
        let found = of("carts", "[dependencies]\norders.workspace = true");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/carts/Cargo.toml:4: `carts` may not"), "{found:?}");
        assert_eq!(of("rest", "[dependencies]\nmcp = \"1\"").len(), 1);
    }

    #[test]
    fn tests_may_also_use_the_test_crates() {
        assert_eq!(of("carts", "[dev-dependencies]\ntestkit = \"1\"\ndemo = \"1\""), [""; 0]);
        assert_eq!(of("carts", "[dependencies]\ntestkit = \"1\"").len(), 1);
        assert_eq!(of("carts", "[dev-dependencies]\nserver = \"1\"").len(), 1);
    }

    #[test]
    fn a_crate_has_a_row_under_its_own_name() {
        assert!(of("loyalty", "")[0].contains("has no row in layers.rs"));
        assert!(of("utils", "")[0].contains("does not describe"));
        let renamed = [("crates/carts/Cargo.toml", "[package]\nname = \"basket\"")];
        assert!(findings(check, &renamed)[0].contains("use the same name for both"));
    }
}
