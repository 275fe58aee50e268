//! Imports point down: a crate depends only on what its row of the map names.

use super::names::EMPTY_NAMES;
use crate::{Finding, House, layers, manifest::Manifest};

pub(super) fn check(house: &House) -> Vec<Finding> {
    let ours = |name: &str| {
        layers::find(name).is_some() || house.manifests.iter().any(|other| other.krate == name)
    };
    house.manifests.iter().flat_map(|manifest| check_manifest(manifest, ours)).collect()
}

fn check_manifest(manifest: &Manifest, ours: impl Fn(&str) -> bool) -> Vec<Finding> {
    let krate = &manifest.krate;
    let at_top = |message: String| vec![Finding::new(&manifest.path, 1, message)];
    if EMPTY_NAMES.contains(&krate.as_str()) {
        return at_top(format!("`{krate}` says nothing about what it holds: name its subject"));
    }
    if manifest.package != *krate {
        let package = &manifest.package;
        return at_top(format!(
            "package `{package}` lives in `crates/{krate}`: give both one name"
        ));
    }
    let Some(room) = layers::find(krate) else {
        return at_top(format!("`{krate}` is not on the map: add it to layers.rs on purpose"));
    };
    let mut findings = Vec::new();
    for dependency in manifest.dependencies.iter().filter(|dependency| ours(&dependency.name)) {
        let used = &dependency.name;
        let allowed =
            if dependency.for_tests { room.may_use_in_tests(used) } else { room.may_use(used) };
        if !allowed {
            let message = format!(
                "`{krate}` may not depend on `{used}`: imports point down, so move the code \
                 to the crate that knows both, or change layers.rs on purpose"
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
    fn a_crate_may_use_what_is_below_it() {
        let below = "[dependencies]\nprimitives = \"1\"\ncatalog.workspace = true\nserde = \"1\"";
        assert_eq!(of("carts", below), [""; 0]);
    }

    #[test]
    fn a_crate_may_not_use_what_is_beside_or_above_it() {
        let found = of("carts", "[dependencies]\norders.workspace = true");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/carts/Cargo.toml:4: `carts` may not"), "{found:?}");
        assert_eq!(of("rest", "[dependencies]\nmcp = \"1\"").len(), 1);
    }

    #[test]
    fn tests_may_also_use_the_test_tools() {
        assert_eq!(of("carts", "[dev-dependencies]\ntestkit = \"1\"\ndemo = \"1\""), [""; 0]);
        assert_eq!(of("carts", "[dependencies]\ntestkit = \"1\"").len(), 1);
        assert_eq!(of("carts", "[dev-dependencies]\nserver = \"1\"").len(), 1);
    }

    #[test]
    fn a_crate_must_be_on_the_map_under_its_own_name() {
        assert!(of("loyalty", "")[0].contains("add it to layers.rs on purpose"));
        assert!(of("utils", "")[0].contains("says nothing"));
        let renamed = [("crates/carts/Cargo.toml", "[package]\nname = \"basket\"")];
        assert!(findings(check, &renamed)[0].contains("give both one name"));
    }
}
