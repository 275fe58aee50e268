//! What does not belong in a text that others read: one machine's paths, and loose reminders.

use crate::{Finding, House};

/// This file names what it refuses.
const EXEMPT: &str = "crates/tidy/src/rules/words.rs";

const MACHINE_PATHS: &[&str] = &["/root/", "/work/", "/home/"];
const REMINDERS: &[&str] = &["TODO", "FIXME", "XXX"];

pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in house.texts.iter().filter(|text| text.path.as_str() != EXEMPT) {
        for (index, line) in text.text.lines().enumerate() {
            if let Some(place) = MACHINE_PATHS.iter().find(|place| has_machine_path(line, place)) {
                let message = format!("{place}… exists on one machine only: use a relative path");
                findings.push(Finding::new(&text.path, index + 1, message));
            }
            if let Some(word) = REMINDERS.iter().find(|word| has_loose_reminder(line, word)) {
                let message = format!("{word} without an issue: do it now, or write {word}(#12)");
                findings.push(Finding::new(&text.path, index + 1, message));
            }
        }
    }
    findings
}

fn has_machine_path(line: &str, place: &str) -> bool {
    line.match_indices(place).any(|(start, _)| {
        // In the middle of a longer path or an address it means something else.
        let begins = !line[..start].ends_with(is_path_part);
        let after = &line[start + place.len()..];
        let names_somebody = || {
            let name = after.find(|character: char| !is_path_part(character));
            name.is_some_and(|end| end > 0 && after[end..].starts_with('/'))
        };
        begins && (place != "/home/" || names_somebody())
    })
}

fn is_path_part(character: char) -> bool {
    character.is_alphanumeric() || "._-~})".contains(character)
}

fn has_loose_reminder(line: &str, word: &str) -> bool {
    let is_letter = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let after = &line[start + word.len()..];
        !line[..start].ends_with(is_letter) && !after.starts_with(is_letter) && !cites_issue(after)
    })
}

/// Whether the text goes on with `(#12)`.
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
