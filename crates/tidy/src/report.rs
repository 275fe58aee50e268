use std::fmt::Write as _;

use crate::Workspace;

const SHOWN: usize = 10;
const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 50;

/// Lists the longest files and functions, which approach the limits of the `size` rule.
#[must_use]
pub fn report(workspace: &Workspace) -> String {
    let handwritten = || workspace.rust.iter().filter(|file| !file.is_generated);
    let files = handwritten().map(|file| (file.lines, file.path.as_str().to_owned()));
    let functions = handwritten().flat_map(|file| {
        let entry = move |function: &crate::rust_file::Function| {
            let location = format!("{}:{} {}", file.path.as_str(), function.line, function.name);
            (function.lines(), location)
        };
        file.facts.functions.iter().map(entry)
    });
    longest("files", FILE_LINES, files) + &longest("functions", FUNCTION_LINES, functions)
}

fn longest(what: &str, over: usize, all: impl Iterator<Item = (usize, String)>) -> String {
    let mut entries: Vec<_> = all.filter(|(lines, _)| *lines > over).collect();
    entries.sort_by(|left, right| right.0.cmp(&left.0).then_with(|| left.1.cmp(&right.1)));
    let mut text = format!("{} {what} over {over} lines\n", entries.len());
    for (lines, location) in entries.iter().take(SHOWN) {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{lines:>6}  {location}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_come_first_and_short_ones_are_omitted() {
        let long = |lines: usize| format!("fn long() {{\n{}}}\n", "\n".repeat(lines - 2));
        let workspace = Workspace::of([
            ("crates/a/src/short.rs", long(50)),
            ("crates/a/src/medium.rs", long(51)),
            ("crates/a/src/long.rs", long(401)),
        ]);
        assert_eq!(
            report(&workspace),
            "1 files over 400 lines\n   401  crates/a/src/long.rs\n\
             2 functions over 50 lines\n   401  crates/a/src/long.rs:1 long\n\
             \x20   51  crates/a/src/medium.rs:1 long\n"
        );
    }
}
