//! Refuses paths of one developer's machine, and reminders without an issue.

use crate::{Finding, Workspace};

/// This file contains the patterns that it refuses.
const EXEMPT: &str = "crates/tidy/src/rules/text_hygiene.rs";

const MACHINE_PATHS: &[&str] = &["/root/", "/work/", "/home/"];
const REMINDERS: &[&str] = &["TODO", "FIXME", "XXX"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in workspace.texts.iter().filter(|text| text.path.as_str() != EXEMPT) {
        for (index, line) in text.text.lines().enumerate() {
            if let Some(path) = MACHINE_PATHS.iter().find(|path| has_machine_path(line, path)) {
                let message = format!("{path}… exists on one machine only: use a relative path");
                findings.push(Finding::new(&text.path, index + 1, message));
            }
            if let Some(word) = REMINDERS.iter().find(|word| has_unlinked_reminder(line, word)) {
                let message = format!("{word} without an issue: resolve it, or write {word}(#12)");
                findings.push(Finding::new(&text.path, index + 1, message));
            }
        }
    }
    findings
}

fn has_machine_path(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(start, _)| {
        // Inside a longer path or a URL it is not an absolute path.
        let is_start = !line[..start].ends_with(is_path_part);
        let after = &line[start + path.len()..];
        let names_user = || {
            let name = after.find(|character: char| !is_path_part(character));
            name.is_some_and(|end| end > 0 && after[end..].starts_with('/'))
        };
        is_start && (path != "/home/" || names_user())
    })
}

fn is_path_part(character: char) -> bool {
    character.is_alphanumeric() || "._-~})".contains(character)
}

fn has_unlinked_reminder(line: &str, word: &str) -> bool {
    let is_letter = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let after = &line[start + word.len()..];
        !line[..start].ends_with(is_letter) && !after.starts_with(is_letter) && !cites_issue(after)
    })
}

/// Whether the text continues with `(#12)`.
fn cites_issue(after: &str) -> bool {
    let issue = after.strip_prefix("(#").and_then(|rest| rest.split_once(')'));
    issue.is_some_and(|(number, _)| {
        !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn of(text: &str) -> Vec<String> {
        findings(check, &[("docs/a.md", text)])
    }

    #[test]
    fn paths_of_one_machine_are_refused() {
        assert!(of("a\nsee /work/main")[0].starts_with("docs/a.md:2: /work/… exists"));
        for text in ["cd /root/x", "\"/home/jane/souk\"", "file:///work/a"] {
            assert_eq!(of(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn parts_of_other_paths_are_not() {
        for text in [
            "https://example.com/work/a",
            "target/root/x",
            "${DIR}/work/x",
            "/home/<name>/",
            "the /home/ page",
            "/workshop/a",
        ] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn reminders_cite_an_issue() {
        for text in ["TODO: later", "// FIXME", "XXX", "TODO(jane): x", "TODO(#): x"] {
            assert_eq!(of(text).len(), 1, "{text}");
        }
        for text in ["TODO(#12): later", "TODOS", "sk_XXX", "XXXX", "todo list"] {
            assert_eq!(of(text), [""; 0], "{text}");
        }
    }
}
