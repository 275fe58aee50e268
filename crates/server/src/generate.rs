//! Generates files from the code. CI fails if a committed file differs.

mod webhook_events;

use std::path::Path;

use clap::CommandFactory;
use primitives::{CodeMark, ErrorCode};

use crate::{Cli, metric_list};

/// The server URL in `openapi.json`.
const SITE_URL: &str = "http://127.0.0.1:8080";

/// The template of the summary for agents, which contains the list of tools.
const LLMS_TXT: &str = "crates/web/templates/llms.txt";

/// The contract of errors, which contains the tables of codes.
const ERRORS: &str = "docs/contract/errors.md";

/// The published error codes. The file only grows.
const PUBLISHED_CODES: &str = "crates/primitives/error-codes.golden";

/// Placeholder for the public URL in the entry for the MCP server registry.
const PUBLIC_URL: &str = "https://souk.example";

/// Writes the files that differ, unless `check` is set, and returns their names. Fails if a published error code changed.
pub(crate) fn generate(root: &Path, check: bool) -> std::io::Result<Vec<&'static str>> {
    let mut differing = Vec::new();
    let files = [
        ("docs/openapi.json", openapi()),
        ("docs/tools.md", mcp::tools_document()),
        ("docs/checkout.md", checkout_document()),
        ("docs/orders.md", orders_document()),
        ("docs/webhook-events.md", webhook_events::document()),
        ("docs/server.json", pretty(&mcp::registry_entry(PUBLIC_URL))),
        (LLMS_TXT, llms_txt(root)?),
        (ERRORS, errors_document(root)?),
        (PUBLISHED_CODES, published_codes(root)?),
        ("docs/metrics.md", metric_list::document()),
        (".env.example", env_example()),
    ];
    for (name, content) in files {
        let path = root.join(name);
        let differs = std::fs::read_to_string(&path).ok().as_deref() != Some(content.as_str());
        if differs {
            differing.push(name);
            if !check {
                std::fs::write(&path, content)?;
            }
        }
    }
    Ok(differing)
}

/// Returns the template of `llms.txt` with the current list of tools between its markers. Fails if the text names a tool
/// that does not exist.
fn llms_txt(root: &Path) -> std::io::Result<String> {
    let template = std::fs::read_to_string(root.join(LLMS_TXT))?;
    let text = with_section(
        &template,
        LLMS_TXT,
        "{#- tools:begin #}",
        "{#- tools:end #}",
        &mcp::tool_list(),
    )?;
    let unknown = mcp::unknown_tools(&text);
    if unknown.is_empty() {
        Ok(text)
    } else {
        let message = format!("{LLMS_TXT} names tools that do not exist: {unknown:?}");
        Err(std::io::Error::other(message))
    }
}

/// Replaces the lines between the markers of a section. In a template the markers are comments that consume the line break
/// before them.
fn with_section(
    text: &str,
    name: &str,
    begin: &str,
    end: &str,
    content: &str,
) -> std::io::Result<String> {
    let section = || {
        let (before, rest) = text.split_once(&format!("{begin}\n"))?;
        let (_, after) = rest.split_once(end)?;
        Some([before, begin, "\n", content, end, after].concat())
    };
    section().ok_or_else(|| std::io::Error::other(format!("{name}: {begin} or {end} is missing")))
}

/// Returns the contract of errors with the current tables of codes.
fn errors_document(root: &Path) -> std::io::Result<String> {
    let mut text = std::fs::read_to_string(root.join(ERRORS))?;
    for (section, is_shown) in [("codes", true), ("additional-codes", false)] {
        let of_section = |code: &ErrorCode| (code.mark() == CodeMark::Shown) == is_shown;
        let codes: Vec<_> = ErrorCode::ALL.iter().copied().filter(of_section).collect();
        let (begin, end) = (format!("<!-- {section}:begin -->"), format!("<!-- {section}:end -->"));
        text = with_section(&text, ERRORS, &begin, &end, &code_table(&codes))?;
    }
    Ok(text)
}

/// Returns codes as a table. The additional ones are sorted by status; the others keep the order of the specification.
fn code_table(codes: &[ErrorCode]) -> String {
    let mut codes = codes.to_vec();
    if codes.iter().any(|code| code.mark() != CodeMark::Shown) {
        codes.sort_by_key(|code| code.status());
    }
    let row = |code: ErrorCode| {
        let planned = if code.mark() == CodeMark::Planned { " `[planned]`" } else { "" };
        let retryable = if code.retryable() { "yes" } else { "no" };
        let (status, name, meaning) = (code.status(), code.code(), code.description());
        format!("| {status} | `{name}` | {meaning}{planned} | {retryable} |\n")
    };
    let head = String::from("| HTTP | `error` | Meaning | Retryable |\n|---|---|---|---|\n");
    std::iter::once(head).chain(codes.into_iter().map(row)).collect()
}

/// Returns the list of published error codes with new ones appended. Fails if a published code changed.
fn published_codes(root: &Path) -> std::io::Result<String> {
    let published = std::fs::read_to_string(root.join(PUBLISHED_CODES))?;
    ErrorCode::publish(&published).map_err(std::io::Error::other)
}

/// Documents the state machine of a checkout.
fn checkout_document() -> String {
    let mut text = String::from(
        "# Checkout states\n\nGenerated by `just generate` from the transition table in `crates/checkout/src/machine.rs`, \
         which the code applies.\n\n",
    );
    let rows = checkout::TRANSITIONS
        .iter()
        .map(|(from, by, to)| [from.as_str(), by.as_str(), to.as_str()]);
    text.push_str(&machine(&checkout::state_diagram(), rows));
    text
}

/// Documents the state machines of orders and returns.
fn orders_document() -> String {
    let mut text = String::from(
        "# States of orders and returns\n\nGenerated by `just generate` from the transition tables in \
         `crates/orders/src/machine.rs` and `crates/orders/src/return_machine.rs`, which the code applies.\n\n## Orders\n\n",
    );
    let rows =
        orders::TRANSITIONS.iter().map(|(from, by, to)| [from.as_str(), by.as_str(), to.as_str()]);
    text.push_str(&machine(&orders::state_diagram(), rows));
    text.push_str("\n## Returns\n\n");
    let rows = orders::RETURN_TRANSITIONS
        .iter()
        .map(|(from, by, to)| [from.as_str(), by.as_str(), to.as_str()]);
    text.push_str(&machine(&orders::return_state_diagram(), rows));
    text
}

/// Returns a state machine as a diagram and a table of its transitions.
fn machine<'names>(diagram: &str, rows: impl Iterator<Item = [&'names str; 3]>) -> String {
    let head = format!("```mermaid\n{diagram}\n```\n\n| From | Transition | To |\n|---|---|---|\n");
    let row = |[from, transition, to]: [&str; 3]| format!("| `{from}` | {transition} | `{to}` |\n");
    std::iter::once(head).chain(rows.map(row)).collect()
}

fn openapi() -> String {
    pretty(&rest::openapi(SITE_URL))
}

fn pretty(document: &serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
    text.push('\n');
    text
}

/// Lists every option with its default, from the declarations behind `souk --help`.
fn env_example() -> String {
    let options = Cli::command();
    let lines = options.get_arguments().filter_map(|argument| {
        let name = argument.get_env()?.to_str()?;
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let default: Vec<_> =
            argument.get_default_values().iter().filter_map(|value| value.to_str()).collect();
        Some(format!("\n# {help}\n#{name}={}\n", default.join(",")))
    });
    let head = "# Every option of `souk`, with its default. `souk check-config` checks the values. Generated by `just generate`; see also \
                `souk --help`.\n";
    std::iter::once(head.to_owned()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_between_its_markers() {
        let section =
            |text| with_section(text, "a.md", "<!-- a:begin -->", "<!-- a:end -->", "new\n");
        let text = "a\n<!-- a:begin -->\nold\n<!-- a:end -->\nb\n";
        let expected = "a\n<!-- a:begin -->\nnew\n<!-- a:end -->\nb\n";
        assert_eq!(section(text).unwrap(), expected);
        assert!(section("a\n").unwrap_err().to_string().starts_with("a.md: "));
    }

    #[test]
    fn a_table_marks_planned_codes() {
        let table = code_table(&[ErrorCode::PaymentRequired, ErrorCode::InvalidRequest]);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| 400 | `invalid_request` | malformed body or argument | no |",
                "| 402 | `payment_required` | a payment is needed first `[planned]` | no |",
            ]
        );
    }
}
