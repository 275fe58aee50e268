//! A function or file above the limit usually has two subjects.

use crate::{Finding, Workspace, rust_file::RustFile};

const FUNCTION_LINES: usize = 70;
const FILE_LINES: usize = 500;
/// A test covers a whole scenario, so it may be longer.
const TEST_FUNCTION_LINES: usize = 100;
const TEST_FILE_LINES: usize = 700;

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace.rust.iter().filter(|file| !file.is_generated).flat_map(check_file).collect()
}

fn check_file(file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    let limit = if file.path.is_test() { TEST_FILE_LINES } else { FILE_LINES };
    if file.lines > limit {
        let message = format!("{} lines, limit {limit}: split the file by subject", file.lines);
        findings.push(Finding::new(&file.path, 1, message));
    }
    for function in &file.facts.functions {
        let is_test = file.is_test(function.line);
        let limit = if is_test { TEST_FUNCTION_LINES } else { FUNCTION_LINES };
        if function.lines() > limit {
            let message = format!(
                "`{}` has {} lines, limit {limit}: extract its steps into functions",
                function.name,
                function.lines()
            );
            findings.push(Finding::new(&file.path, function.line, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn at(path: &str, text: &str) -> Vec<String> {
        findings(check, &[(path, text)])
    }

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "\n".repeat(lines - 2))
    }

    #[test]
    fn functions_have_at_most_70_lines() {
        assert_eq!(at("crates/a/src/a.rs", &function(70)), [""; 0]);
        let found = at("crates/a/src/a.rs", &format!("\n{}", function(71)));
        assert_eq!(
            found,
            [
                "crates/a/src/a.rs:2: `long` has 71 lines, limit 70: extract its steps into functions"
            ]
        );
    }

    #[test]
    fn files_have_at_most_500_lines_without_their_tests() {
        let file = "\n".repeat(500);
        assert_eq!(at("crates/a/src/a.rs", &file), [""; 0]);
        assert!(at("crates/a/src/a.rs", &format!("{file}\n"))[0].contains("501 lines"));
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(200));
        assert_eq!(at("crates/a/src/a.rs", &format!("{file}{tests}")), [""; 0]);
    }

    #[test]
    fn tests_may_be_longer() {
        assert_eq!(at("crates/a/tests/it/a.rs", &function(100)), [""; 0]);
        assert_eq!(at("crates/a/tests/it/a.rs", &function(101)).len(), 1);
        assert_eq!(at("crates/a/src/a.rs", &format!("#[test]\n{}", function(100))), [""; 0]);
        assert_eq!(at("crates/a/tests/it/a.rs", &"\n".repeat(700)), [""; 0]);
        assert_eq!(at("crates/a/tests/it/a.rs", &"\n".repeat(701)).len(), 1);
    }

    #[test]
    fn generated_files_may_have_any_size() {
        assert_eq!(at("crates/a/src/a.rs", &format!("// @generated\n{}", function(600))), [""; 0]);
    }
}
