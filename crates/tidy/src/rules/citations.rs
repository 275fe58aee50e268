//! Citations of the contract resolve: `docs/contract/<page>.md#<anchor>` names an existing anchor.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Finding, Workspace, source_path::SourcePath};

/// Whether citations by section number are refused.
const REFUSE_SECTION_NUMBERS: bool = true;

const CONTRACT: &str = "docs/contract/";

/// This file contains citations of pages that do not exist.
const EXEMPT: &str = "crates/tidy/src/rules/citations.rs";

/// Texts that may cite a section by its number, by prefix of their path.
const MAY_USE_SECTION_NUMBERS: &[&str] = &[CONTRACT, "docs/decisions/", EXEMPT];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = unresolved(workspace);
    findings.extend(duplicate_anchors(workspace));
    if REFUSE_SECTION_NUMBERS {
        findings.extend(section_numbers(workspace));
    }
    findings
}

/// Describes how many citations there are, and how many do not resolve.
pub(super) fn summary(workspace: &Workspace) -> String {
    let all = citations(workspace).filter(|citation| citation.anchor.is_some()).count();
    match unresolved(workspace).len() {
        0 => format!("{all} citations, all resolved"),
        unresolved => format!("{all} citations, {unresolved} unresolved"),
    }
}

/// A reference to a page of the contract; one without an anchor is a link, not a citation.
struct Citation<'w> {
    path: &'w SourcePath,
    line: usize,
    page: &'w str,
    anchor: Option<&'w str>,
}

fn citations(workspace: &Workspace) -> impl Iterator<Item = Citation<'_>> {
    let texts = workspace.texts.iter().filter(|text| text.path.as_str() != EXEMPT);
    texts.flat_map(|text| {
        let is_markdown = text.path.extension() == "md";
        text.text.lines().enumerate().flat_map(move |(index, line)| {
            let references = references(line, is_markdown);
            references.map(move |(page, anchor)| Citation {
                path: &text.path,
                line: index + 1,
                page,
                anchor,
            })
        })
    })
}

/// Returns the pages and anchors named in a line. Links in Markdown may be relative.
fn references(line: &str, is_markdown: bool) -> impl Iterator<Item = (&str, Option<&str>)> {
    const FOLDER: &str = "contract/";
    line.match_indices(FOLDER).filter_map(move |(start, _)| {
        let before = &line[..start];
        let is_relative = before.ends_with("../") || before.ends_with('(');
        if !(before.ends_with("docs/") || is_markdown && is_relative) {
            return None;
        }
        let (page, after) = split_while(&line[start + FOLDER.len()..], |character| {
            character.is_ascii_alphanumeric() || "-_/".contains(character)
        });
        let after = after.strip_prefix(".md").filter(|_| !page.is_empty())?;
        let anchor = after.strip_prefix('#').map(|rest| split_while(rest, is_anchor_part).0);
        Some((page, anchor.filter(|anchor| !anchor.is_empty())))
    })
}

fn split_while(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|character| !belongs(character)).unwrap_or(text.len()))
}

fn is_anchor_part(character: char) -> bool {
    character.is_alphanumeric() || character == '-' || character == '_'
}

fn unresolved(workspace: &Workspace) -> Vec<Finding> {
    let pages = pages(workspace);
    let finding = |citation: Citation<'_>| {
        let Citation { path, line, page, anchor } = citation;
        let message = match (pages.get(page), anchor) {
            (None, _) => format!("{CONTRACT}{page}.md does not exist: correct the citation"),
            (Some(anchors), Some(anchor)) if !anchors.contains(anchor) => {
                format!("{CONTRACT}{page}.md has no anchor `{anchor}`: correct the citation")
            }
            (Some(_), _) => return None,
        };
        Some(Finding::new(path, line, message))
    };
    citations(workspace).filter_map(finding).collect()
}

/// The anchors of every page of the contract, by the page's name without `.md`.
fn pages(workspace: &Workspace) -> BTreeMap<&str, BTreeSet<String>> {
    let texts = workspace.texts.iter();
    texts.filter_map(|text| Some((page_name(&text.path)?, anchors(&text.text)))).collect()
}

fn page_name(path: &SourcePath) -> Option<&str> {
    path.as_str().strip_prefix(CONTRACT)?.strip_suffix(".md")
}

/// Returns explicit ids and the slugs of headings.
fn anchors(text: &str) -> BTreeSet<String> {
    let explicit = explicit_anchors(text).map(|(_, anchor)| anchor.to_owned());
    let headings = text.lines().filter(|line| line.starts_with('#'));
    explicit.chain(headings.map(|line| slug(line.trim_start_matches('#')))).collect()
}

/// Returns the line and the name of every `<a id="…">`.
fn explicit_anchors(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        let ids = line.split("<a id=\"").skip(1);
        ids.filter_map(move |rest| Some((index + 1, rest.split_once('"')?.0)))
    })
}

/// The anchor that renderers give a heading: lower case, hyphens for spaces, no punctuation.
fn slug(heading: &str) -> String {
    let heading = heading.trim().to_lowercase().replace(' ', "-");
    heading.chars().filter(|character| is_anchor_part(*character)).collect()
}

fn duplicate_anchors(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in workspace.texts.iter().filter(|text| text.path.as_str().starts_with(CONTRACT)) {
        let mut seen = BTreeSet::new();
        for (line, anchor) in explicit_anchors(&text.text) {
            if !seen.insert(anchor) {
                let message = format!("the anchor `{anchor}` exists twice on this page");
                findings.push(Finding::new(&text.path, line, message));
            }
        }
    }
    findings
}

/// Finds citations by section number, also where a line break separates the word from the sign.
fn section_numbers(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in &workspace.texts {
        if MAY_USE_SECTION_NUMBERS.iter().any(|prefix| text.path.as_str().starts_with(prefix)) {
            continue;
        }
        for (start, _) in text.text.match_indices('§') {
            let before = &text.text[..start];
            if cites_by_number(before) {
                let line = before.matches('\n').count() + 1;
                let message =
                    "a citation by section number: write docs/contract/<page>.md#<anchor>";
                findings.push(Finding::new(&text.path, line, message));
            }
        }
    }
    findings
}

/// Whether the text before a `§` ends in the name of the contract or of its companion.
fn cites_by_number(before: &str) -> bool {
    let before = before.trim_end_matches(|character: char| {
        character.is_whitespace() || "/!*#`".contains(character)
    });
    let word = before.rsplit(|character: char| !character.is_alphanumeric()).next();
    let names = ["spec", "specification", "decision", "decisions"];
    word.is_some_and(|word| names.iter().any(|name| word.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    const PAGE: (&str, &str) = (
        "docs/contract/carts.md",
        "# Carts\n\n<a id=\"cart-lifetime\"></a>\nA cart expires.\n\n## What it `costs`, exactly\n",
    );

    fn of(path: &str, text: &str) -> Vec<String> {
        findings(check, &[PAGE, (path, text)])
    }

    #[test]
    fn a_citation_names_an_existing_anchor() {
        for text in [
            "// docs/contract/carts.md#cart-lifetime",
            "/// Expires (docs/contract/carts.md#cart-lifetime).",
            "// docs/contract/carts.md#what-it-costs-exactly",
            "// docs/contract/carts.md",
            "// docs/contract/<page>.md#<anchor>",
        ] {
            assert_eq!(of("crates/carts/src/cart.rs", text), [""; 0], "{text}");
        }
        let found = of("crates/carts/src/cart.rs", "\n// docs/contract/carts.md#cart-colour");
        assert_eq!(
            found,
            ["crates/carts/src/cart.rs:2: docs/contract/carts.md has no anchor `cart-colour`: \
              correct the citation"]
        );
        assert!(of("docs/a.md", "docs/contract/orders.md#a")[0].contains("does not exist"));
    }

    #[test]
    fn links_in_markdown_may_be_relative() {
        assert_eq!(of("docs/a.md", "[a](contract/carts.md#cart-lifetime)"), [""; 0]);
        assert_eq!(of("docs/how-to/a.md", "[a](../contract/carts.md#gone)").len(), 1);
        assert_eq!(of("crates/a/src/a.rs", "let a = \"../contract/carts.md#gone\";"), [""; 0]);
    }

    #[test]
    fn an_anchor_is_unique_on_its_page() {
        let text = "<a id=\"a\"></a>\n<a id=\"a\"></a>";
        let found = of("docs/contract/orders.md", text);
        assert!(found.len() == 1 && found[0].contains("orders.md:2: the anchor `a`"), "{found:?}");
    }

    #[test]
    fn the_summary_counts_citations() {
        let summary_of = |text: &str| summary(&Workspace::of([PAGE, ("docs/a.md", text)]));
        let resolved = "docs/contract/carts.md docs/contract/carts.md#cart-lifetime";
        assert_eq!(summary_of(resolved), "1 citations, all resolved");
        assert_eq!(summary_of("docs/contract/carts.md#a"), "1 citations, 1 unresolved");
    }

    #[test]
    fn citations_by_section_number_are_refused() {
        let of = |path: &str, text: &str| findings(section_numbers, &[(path, text)]);
        for text in ["// spec §8", "(decisions §6)", "// Spec\n    // §8", "see decisions\n§6"]
        {
            assert_eq!(of("crates/a/src/a.rs", text).len(), 1, "{text}");
        }
        assert!(of("docs/a.md", "\nspec §8")[0].starts_with("docs/a.md:2: a citation"));
        assert_eq!(of("docs/a.md", "RFC 9110 §15"), [""; 0]);
        assert_eq!(of("docs/decisions/0001-a.md", "spec §8"), [""; 0]);
        assert_eq!(of("docs/contract/carts.md", "spec §8"), [""; 0]);
    }
}
