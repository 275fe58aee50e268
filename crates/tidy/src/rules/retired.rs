//! Retired identifiers and phrases do not come back. The list is `crates/tidy/retired.txt`.

use std::collections::HashMap;

use crate::{
    Finding, Workspace,
    source_path::SourcePath,
    words::{Word, words},
};

const LIST: &str = "crates/tidy/retired.txt";

/// Texts that record history or list the old words, by prefix of their path.
const EXEMPT: &[&str] = &[
    LIST,
    "CHANGELOG.md",
    "crates/database/migrations/",
    "docs/decisions/",
    "docs/evaluation/",
    "docs/glossary.md",
];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let (list, mut findings) = List::read(workspace);
    for text in workspace.texts.iter().filter(|text| !is_exempt(&text.path)) {
        for (line, entry) in list.matches(&text.text) {
            let message = format!("`{entry}` is retired: use the term of docs/glossary.md");
            findings.push(Finding::new(&text.path, line, message));
        }
    }
    findings
}

/// Returns the number of entries in the list.
pub(super) fn count(workspace: &Workspace) -> usize {
    List::read(workspace).0.by_first_word.values().map(Vec::len).sum()
}

fn is_exempt(path: &SourcePath) -> bool {
    EXEMPT.iter().any(|prefix| path.as_str().starts_with(prefix))
}

/// The entries of the list, by their first word in lower case.
#[derive(Default)]
struct List<'w> {
    by_first_word: HashMap<String, Vec<Entry<'w>>>,
}

/// An identifier, which is matched exactly, or a phrase, which is matched in any case.
struct Entry<'w> {
    text: &'w str,
    words: Vec<Word<'w>>,
    is_phrase: bool,
}

impl<'w> List<'w> {
    fn read(workspace: &'w Workspace) -> (Self, Vec<Finding>) {
        let (mut list, mut findings) = (Self::default(), Vec::new());
        let Some(file) = workspace.text(LIST) else {
            return (list, findings);
        };
        for (index, line) in file.text.lines().enumerate() {
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let Some(entry) = Entry::parse(text) else {
                let message = "an entry starts and ends with a letter, a digit or `_`";
                findings.push(Finding::new(&file.path, index + 1, message));
                continue;
            };
            let first = entry.words[0].text.to_lowercase();
            list.by_first_word.entry(first).or_default().push(entry);
        }
        (list, findings)
    }

    /// Returns the line and the entry of every match in a text.
    fn matches(&self, text: &str) -> Vec<(usize, &'w str)> {
        if self.by_first_word.is_empty() {
            return Vec::new();
        }
        let found: Vec<Word<'_>> = words(text).collect();
        let mut matches = Vec::new();
        for (index, first) in found.iter().enumerate() {
            let Some(entries) = self.by_first_word.get(&first.text.to_lowercase()) else {
                continue;
            };
            let entries = entries.iter().filter(|entry| entry.starts(&found[index..]));
            matches.extend(entries.map(|entry| (first.line, entry.text)));
        }
        matches
    }
}

impl<'w> Entry<'w> {
    fn parse(text: &'w str) -> Option<Self> {
        let words: Vec<Word<'w>> = words(text).collect();
        let length: usize = words.iter().map(|word| word.gap.len() + word.text.len()).sum();
        let has_words_at_both_ends = words.first()?.gap.is_empty() && length == text.len();
        has_words_at_both_ends.then(|| Self { text, words, is_phrase: text.contains(' ') })
    }

    /// Whether the entry is at the start of these words.
    fn starts(&self, found: &[Word<'_>]) -> bool {
        let is_same = |(index, (own, other)): (usize, (&Word<'_>, &Word<'_>))| {
            let same_gap = index == 0 || own.gap == other.gap;
            let same_text = if self.is_phrase {
                own.text.to_lowercase() == other.text.to_lowercase()
            } else {
                own.text == other.text
            };
            same_gap && same_text
        };
        found.len() >= self.words.len() && self.words.iter().zip(found).enumerate().all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    const RETIRED: &str = "# Old names.\n\nOldName\nold_verb\nOld::verb\nthe old saying\n";

    fn of(path: &str, text: &str) -> Vec<String> {
        findings(check, &[(LIST, RETIRED), (path, text)])
    }

    #[test]
    fn a_retired_identifier_is_refused_in_every_text() {
        let found = of("crates/carts/src/cart.rs", "//! Carts.\nstruct OldName;");
        assert_eq!(
            found,
            ["crates/carts/src/cart.rs:2: `OldName` is retired: use the term of docs/glossary.md"]
        );
        for path in ["README.md", "docs/a.md", "dev/setup", "crates/web/templates/a.html"] {
            assert_eq!(of(path, "call old_verb() here").len(), 1, "{path}");
        }
        assert_eq!(of("docs/a.md", "`Old::verb`").len(), 1);
    }

    #[test]
    fn identifiers_are_whole_words_in_their_case() {
        for text in ["oldname", "OldNames", "AnOldName", "my_old_verb", "Old verb", "Old.verb"] {
            assert_eq!(of("docs/a.md", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn phrases_are_found_in_any_case_and_over_wrapped_lines() {
        for text in
            ["The old saying.", "// it is the\n    // old saying", "\"the old \\\n saying\""]
        {
            assert_eq!(of("crates/a/src/a.rs", text).len(), 1, "{text}");
        }
        for text in ["the old sayings", "the old-saying", "the\n\nold saying"] {
            assert_eq!(of("docs/a.md", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn history_keeps_its_words() {
        for path in EXEMPT.iter().filter(|path| **path != LIST) {
            let file = if path.ends_with('/') { "0001-a.md" } else { "" };
            assert_eq!(of(&format!("{path}{file}"), "OldName"), [""; 0], "{path}");
        }
    }

    #[test]
    fn a_malformed_entry_is_a_finding() {
        let found = findings(check, &[(LIST, "ok\ncarts::owner(\n")]);
        assert!(found.len() == 1 && found[0].contains("retired.txt:2: an entry"), "{found:?}");
    }
}
