//! The parts of a crate's `Cargo.toml` that the rules check.

use toml::de::{DeTable, DeValue};

use crate::source_path::SourcePath;

#[derive(Debug)]
pub(crate) struct Manifest {
    pub(crate) path: SourcePath,
    /// The directory below `crates/`.
    pub(crate) krate: String,
    pub(crate) package: String,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) inherits_lints: bool,
    /// The line and message of a TOML syntax error.
    pub(crate) parse_error: Option<(usize, String)>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) for_tests: bool,
}

impl Manifest {
    /// Reads `crates/<krate>/Cargo.toml`; `None` if the file is something else.
    pub(crate) fn read(path: &SourcePath, text: &str) -> Option<Self> {
        let krate = path.krate().filter(|_| path.within_crate() == "Cargo.toml")?;
        let mut manifest = Self {
            path: path.clone(),
            krate: krate.to_owned(),
            package: krate.to_owned(),
            dependencies: Vec::new(),
            inherits_lints: false,
            parse_error: None,
        };
        match DeTable::parse(text) {
            Ok(document) => manifest.fill(text, document.get_ref()),
            Err(error) => {
                let line = error.span().map_or(1, |span| line_of(text, span.start));
                manifest.parse_error = Some((line, error.message().to_owned()));
            }
        }
        Some(manifest)
    }

    fn fill(&mut self, text: &str, document: &DeTable<'_>) {
        if let Some(name) = entry(document, &["package", "name"]).and_then(DeValue::as_str) {
            name.clone_into(&mut self.package);
        }
        self.inherits_lints =
            entry(document, &["lints", "workspace"]).and_then(DeValue::as_bool) == Some(true);
        self.add_dependencies(text, document);
        let targets = entry(document, &["target"]).and_then(DeValue::as_table);
        for target in targets.into_iter().flatten().filter_map(|(_, t)| t.get_ref().as_table()) {
            self.add_dependencies(text, target);
        }
    }

    fn add_dependencies(&mut self, text: &str, table: &DeTable<'_>) {
        for section in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let entries = entry(table, &[section]).and_then(DeValue::as_table);
            for (key, value) in entries.into_iter().flatten() {
                // A renamed dependency is still the same crate.
                let renamed =
                    value.get_ref().get("package").and_then(|name| name.get_ref().as_str());
                self.dependencies.push(Dependency {
                    name: renamed.unwrap_or(key.get_ref()).to_owned(),
                    line: line_of(text, key.span().start),
                    for_tests: section == "dev-dependencies",
                });
            }
        }
    }
}

fn entry<'t, 'i>(table: &'t DeTable<'i>, keys: &[&str]) -> Option<&'t DeValue<'i>> {
    let (last, above) = keys.split_last()?;
    let mut table = table;
    for key in above {
        table = table.get(*key)?.get_ref().as_table()?;
    }
    Some(table.get(*last)?.get_ref())
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(text: &str) -> Manifest {
        Manifest::read(&SourcePath::new("crates/carts/Cargo.toml"), text).unwrap()
    }

    #[test]
    fn dependencies_are_found_in_every_form() {
        let read = manifest(
            "[package]\nname = \"carts\"\n[dependencies]\ncatalog.workspace = true\n\
             other = { package = \"orders\" }\n[dependencies.jobs]\nworkspace = true\n\
             [dev-dependencies]\ntestkit.workspace = true\n\
             [target.'cfg(unix)'.dependencies]\nlimits.workspace = true\n[lints]\nworkspace = true\n",
        );
        let found = read.dependencies.iter().map(|d| (d.name.as_str(), d.line, d.for_tests));
        assert_eq!(
            found.collect::<Vec<_>>(),
            [
                ("catalog", 4, false),
                ("jobs", 6, false),
                ("orders", 5, false),
                ("testkit", 9, true),
                ("limits", 11, false),
            ]
        );
        assert!(read.inherits_lints && read.parse_error.is_none());
    }

    #[test]
    fn a_syntax_error_has_a_line() {
        let (line, message) = manifest("[package]\nname = \n").parse_error.unwrap();
        assert_eq!(line, 2);
        assert!(!message.is_empty());
    }

    #[test]
    fn only_crate_manifests_are_read() {
        assert!(Manifest::read(&SourcePath::new("Cargo.toml"), "").is_none());
        assert!(Manifest::read(&SourcePath::new("crates/a/fuzz/Cargo.toml"), "").is_none());
    }
}
