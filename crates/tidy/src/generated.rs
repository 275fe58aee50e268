//! Sections of documents that are generated: the map of the crates and the stages of the gate.
//!
//! A section is enclosed by `<!-- name:begin -->` and `<!-- name:end -->`.

use std::fmt::Write;

use crate::Workspace;
use crate::layers::{Allowed, CRATES, Crate, EVERYWHERE, Layer};

/// A generated section of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The crates, their layers and their dependencies, in `ARCHITECTURE.md`.
    Map,
    /// The stages of the gate, in `CONTRIBUTING.md`.
    Gate,
}

impl Section {
    /// All sections.
    pub const ALL: [Self; 2] = [Self::Map, Self::Gate];

    /// Returns the section of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|section| section.name() == name)
    }

    /// Returns the name, as in its markers and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Map => "map",
            Self::Gate => "gate",
        }
    }

    /// Returns the document that contains the section.
    #[must_use]
    pub const fn document(self) -> &'static str {
        match self {
            Self::Map => "ARCHITECTURE.md",
            Self::Gate => "CONTRIBUTING.md",
        }
    }

    /// Returns the document with the section generated anew, or `None` if it is up to date. Fails if the document or its
    /// markers are missing, or if a stage of the gate has no description.
    pub fn render(self, workspace: &Workspace) -> Result<Option<String>, String> {
        let content = match self {
            Self::Map => map(),
            Self::Gate => gate(&read(workspace, GATE)?)?,
        };
        let document = read(workspace, self.document())?;
        let rendered = replace(&document, self.name(), &content).ok_or_else(|| {
            format!("{}: the markers of {} are missing", self.document(), self.name())
        })?;
        Ok((rendered != document).then_some(rendered))
    }
}

fn read(workspace: &Workspace, path: &str) -> Result<String, String> {
    let file = workspace.text(path).ok_or_else(|| format!("{path} is missing"))?;
    Ok(file.text.clone())
}

/// Replaces the lines between the markers of a section.
fn replace(text: &str, name: &str, content: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->"));
    let (before, rest) = text.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some([before, &begin, content, &end, after].concat())
}

/// Returns the table of all crates, highest layer last, and the diagram of their dependencies.
fn map() -> String {
    let mut text = String::from(
        "| Layer | Crate | Content | May depend on, besides `primitives` |\n|---|---|---|---|\n",
    );
    for krate in CRATES {
        let Crate { layer, name, content, allowed } = krate;
        let layer = layer.name();
        let _ = writeln!(
            text,
            "| {layer} | [{name}](crates/{name}) | {content} | {} |",
            may_depend_on(allowed)
        );
    }
    text.push_str("\nArrows point to dependencies. `primitives` and arrows that follow from others are omitted.\n\n```mermaid\nflowchart TD\n");
    for layer in Layer::ALL.into_iter().rev() {
        let of_layer = CRATES.iter().filter(|krate| krate.layer == layer);
        let names: Vec<&str> =
            of_layer.map(|krate| krate.name).filter(|name| *name != EVERYWHERE).collect();
        let _ = writeln!(text, "  subgraph {}\n    {}\n  end", layer.name(), names.join("; "));
    }
    for krate in CRATES.iter().rev() {
        let direct = direct_dependencies(krate);
        if !direct.is_empty() {
            let _ = writeln!(text, "  {} --> {}", krate.name, direct.join(" & "));
        }
    }
    text.push_str("```\n");
    text
}

fn may_depend_on(allowed: &Allowed) -> String {
    let list = |names: &[&str]| names.join(", ");
    match allowed {
        Allowed::Only([]) => String::from("–"),
        Allowed::Only(names) => list(names),
        Allowed::FoundationAndDomains => String::from("foundation and domains"),
        Allowed::AllExcept([]) => String::from("all"),
        Allowed::AllExcept(names) => format!("all except {}", list(names)),
    }
}

/// Returns the dependencies of a crate that none of its other dependencies has.
fn direct_dependencies(krate: &Crate) -> Vec<&'static str> {
    let all =
        || CRATES.iter().filter(|other| other.name != krate.name && krate.may_use(other.name));
    let is_indirect = |name: &str| all().any(|other| other.name != name && other.may_use(name));
    let names = all().map(|other| other.name).filter(|name| *name != EVERYWHERE);
    names.filter(|name| !is_indirect(name)).collect()
}

const GATE: &str = ".ci/run";

/// Returns the stages of the gate as a numbered list. The description of a stage is the comment in front of it.
fn gate(script: &str) -> Result<String, String> {
    let mut text = String::new();
    let (mut number, mut comment) = (0, Vec::new());
    for line in script.lines() {
        if let Some(words) = line.strip_prefix("# ") {
            comment.push(words.trim());
            continue;
        }
        if let Some(stage) = line.strip_prefix("stage ").and_then(|rest| rest.split(' ').next()) {
            if comment.is_empty() {
                return Err(format!("{GATE}: the stage {stage} has no comment in front of it"));
            }
            number += 1;
            let _ = writeln!(text, "{number}. **{stage}**: {}", comment.join(" "));
        }
        comment.clear();
    }
    if number == 0 { Err(format!("{GATE}: no stages found")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_between_its_markers() {
        let text = "a\n<!-- map:begin -->\nold\n<!-- map:end -->\nb\n";
        let expected = "a\n<!-- map:begin -->\nnew\n<!-- map:end -->\nb\n";
        assert_eq!(replace(text, "map", "new\n").as_deref(), Some(expected));
        assert_eq!(replace(text, "gate", "new\n"), None);
    }

    #[test]
    fn the_map_lists_every_crate_and_its_direct_dependencies() {
        let map = map();
        for krate in CRATES {
            assert!(map.contains(&format!("| [{0}](crates/{0}) |", krate.name)), "{}", krate.name);
        }
        assert!(map.contains("\n  jobs --> database\n"), "{map}");
        assert!(map.contains("\n  connectors --> catalog\n"), "{map}");
        assert!(!map.contains("database --> database"), "{map}");
    }

    #[test]
    fn the_stages_of_the_gate_are_numbered_with_their_comments() {
        let script = "# The gate.\n\nrun() {\n}\n\n# Format and\n# style.\nstage quick just quick\n# Tests.\nstage tests tests\n";
        let expected = "1. **quick**: Format and style.\n2. **tests**: Tests.\n";
        assert_eq!(gate(script).as_deref(), Ok(expected));
        assert!(
            gate("# A.\n\nstage quick just quick\n").is_err_and(|error| error.contains("quick"))
        );
        assert!(gate("echo").is_err());
    }

    #[test]
    fn a_section_that_is_up_to_date_is_not_rendered() {
        let empty = "<!-- gate:begin -->\n<!-- gate:end -->\n";
        let script = "# Tests.\nstage tests tests\n";
        let of = |text: &str| Workspace::of([("CONTRIBUTING.md", text), (GATE, script)]);
        let rendered = Section::Gate.render(&of(empty)).unwrap().expect("the section is empty");
        assert!(rendered.contains("1. **tests**: Tests.\n"), "{rendered}");
        assert_eq!(Section::Gate.render(&of(&rendered)), Ok(None));
        assert!(Section::Map.render(&of(empty)).is_err());
    }
}
