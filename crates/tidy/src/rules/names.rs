//! Names describe what a thing is or does. Words that describe nothing are refused.

use crate::{
    Finding, Workspace,
    rust_file::{Function, Named, RustFile},
};

/// Names of modules without a subject, which attract unrelated code.
pub(super) const EMPTY_NAMES: &[&str] = &["utils", "common", "helpers", "types", "misc"];

const EMPTY_ENDINGS: &[&str] = &["Service", "Manager", "Repository", "Dto", "Helper", "Impl"];

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    workspace.rust.iter().flat_map(check_file).collect()
}

fn check_file(file: &RustFile) -> Vec<Finding> {
    let messages = empty_modules(file);
    let messages = messages.into_iter().chain(getters(file)).chain(empty_endings(file));
    messages.map(|(line, message)| Finding::new(&file.path, line, message)).collect()
}

type Messages = Vec<(usize, String)>;

/// Files, directories and modules.
fn empty_modules(file: &RustFile) -> Messages {
    let mut messages = Vec::new();
    let name = file.path.file_name();
    if name == "mod.rs" {
        let message = "no mod.rs: name the file after its module, next to the directory";
        messages.push((1, message.to_owned()));
    }
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let path = file.path.directories().chain([stem]).map(|name| (1, name));
    let modules = &file.facts.inline_modules;
    let modules = modules.iter().map(|module| (module.line, module.name.as_str()));
    for (line, name) in path.chain(modules).filter(|(_, name)| EMPTY_NAMES.contains(name)) {
        let message = format!("`{name}` does not describe its content: name its subject");
        messages.push((line, message));
    }
    messages
}

fn getters(file: &RustFile) -> Messages {
    let functions = file.facts.functions.iter().filter(|function| function.is_public);
    let message = |function: &Function| {
        let noun = function.name.strip_prefix("get_")?;
        Some((function.line, format!("`get_{noun}`: name a getter by its noun, `{noun}`")))
    };
    functions.filter_map(message).collect()
}

fn empty_endings(file: &RustFile) -> Messages {
    let message = |found: &Named| {
        let ending = EMPTY_ENDINGS.iter().find(|ending| found.name.ends_with(**ending))?;
        Some((found.line, format!("`{}`: drop `{ending}` and use the noun", found.name)))
    };
    file.facts.types.iter().filter_map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn at(path: &str, text: &str) -> Vec<String> {
        findings(check, &[(path, text)])
    }

    #[test]
    fn files_and_modules_name_their_subject() {
        assert_eq!(at("crates/carts/src/utils.rs", "").len(), 1);
        assert_eq!(at("crates/carts/src/helpers/price.rs", "").len(), 1);
        assert_eq!(at("crates/carts/tests/common/mod.rs", "").len(), 2);
        assert!(at("crates/carts/src/cart.rs", "\nmod misc {}")[0].contains("cart.rs:2: `misc`"));
        assert_eq!(at("crates/carts/src/cart.rs", "mod tests {}"), [""; 0]);
    }

    #[test]
    fn public_functions_do_not_get() {
        let path = "crates/carts/src/cart.rs";
        assert!(at(path, "pub fn get_price() {}")[0].contains("by its noun, `price`"));
        assert_eq!(at(path, "impl A { pub(crate) fn get_price() {} }").len(), 1);
        assert_eq!(at(path, "trait A { fn get_price(); }").len(), 1);
        assert_eq!(at(path, "impl A for B { fn get_info() {} }\npub fn getter() {}"), [""; 0]);
        assert_eq!(at("crates/mcp/src/tools/get_product_details.rs", "pub struct A;"), [""; 0]);
    }

    #[test]
    fn types_are_nouns() {
        for ending in EMPTY_ENDINGS {
            assert_eq!(at("crates/a/src/a.rs", &format!("struct Cart{ending};")).len(), 1);
            assert_eq!(at("crates/a/src/a.rs", &format!("trait Cart{ending} {{}}")).len(), 1);
        }
        assert_eq!(at("crates/a/src/a.rs", "struct Cart;\nimpl Service for Cart {}"), [""; 0]);
    }
}
