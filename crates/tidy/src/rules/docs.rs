//! Every `pub` module, function, type, trait and constant has a doc comment.
//!
//! It replaces rustc's `missing_docs`, which also asks for one on every field and variant.

use crate::{
    Finding, Workspace,
    rust_file::{PublicItem, RustFile},
    source_path::SourcePath,
};

pub(super) fn check(workspace: &Workspace) -> Vec<Finding> {
    let files = workspace.rust.iter();
    let files = files.filter(|file| file.path.in_src() && !file.path.is_test());
    files.filter(|file| !file.is_generated).flat_map(|file| check_file(workspace, file)).collect()
}

fn check_file(workspace: &Workspace, file: &RustFile) -> Vec<Finding> {
    let mut findings = Vec::new();
    for item in file.facts.public_items.iter().filter(|item| !file.is_test(item.line)) {
        if item.has_doc || is_documented_module(workspace, &file.path, item) {
            continue;
        }
        let message = format!("`pub {} {}` has no doc comment: add one", item.kind, item.name);
        findings.push(Finding::new(&file.path, item.line, message));
    }
    findings
}

/// Whether the item is a module in a file of its own that starts with a `//!` comment.
fn is_documented_module(workspace: &Workspace, path: &SourcePath, item: &PublicItem) -> bool {
    let file = module_file(path, &item.name);
    item.kind == "mod"
        && workspace.rust.iter().any(|other| other.path.as_str() == file && other.facts.has_doc)
}

/// Returns the path of a module that the file at `path` declares.
fn module_file(path: &SourcePath, module: &str) -> String {
    let stem = path.as_str().strip_suffix(".rs").unwrap_or(path.as_str());
    let is_root = ["lib.rs", "main.rs"].contains(&path.file_name());
    let directory =
        if is_root { stem.rsplit_once('/').map_or("", |(parent, _)| parent) } else { stem };
    format!("{directory}/{module}.rs")
}

#[cfg(test)]
mod tests {
    use super::super::findings;
    use super::*;

    fn of(text: &str) -> Vec<String> {
        findings(check, &[("crates/carts/src/cart.rs", text)])
    }

    #[test]
    fn public_items_have_doc_comments() {
        for item in [
            "fn a() {}",
            "struct A;",
            "enum A {}",
            "trait A {}",
            "type A = u8;",
            "const A: u8 = 1;",
            "static A: u8 = 1;",
            "mod a {}",
            "mod a;",
        ] {
            assert_eq!(of(&format!("pub {item}")).len(), 1, "{item}");
            assert_eq!(of(&format!("/// A.\npub {item}")), [""; 0], "{item}");
            assert_eq!(of(item), [""; 0], "{item}");
            assert_eq!(of(&format!("pub(crate) {item}")), [""; 0], "{item}");
        }
        let found = of("\npub fn a() {}");
        assert_eq!(found, ["crates/carts/src/cart.rs:2: `pub fn a` has no doc comment: add one"]);
    }

    #[test]
    fn public_methods_and_functions_of_public_traits_have_doc_comments() {
        assert_eq!(of("impl A { pub fn a() {} fn b() {} pub const C: u8 = 1; }").len(), 2);
        assert_eq!(of("impl A for B { fn a() {} }"), [""; 0]);
        assert_eq!(of("/// A.\npub trait A { fn a(); fn b() {} const C: u8; }").len(), 3);
        assert_eq!(of("trait A { fn a(); }"), [""; 0]);
    }

    #[test]
    fn fields_and_variants_need_none() {
        assert_eq!(of("/// A.\npub struct A { pub a: u8 }\n/// B.\npub enum B { C }"), [""; 0]);
    }

    #[test]
    fn a_module_may_be_documented_in_its_file() {
        let of = |text: &str| {
            let root = ("crates/carts/src/lib.rs", "pub mod cart;");
            findings(check, &[root, ("crates/carts/src/cart.rs", text)])
        };
        assert_eq!(of("//! Carts.\n"), [""; 0]);
        assert_eq!(of("").len(), 1);
        let nested = [
            ("crates/carts/src/cart.rs", "pub mod line;"),
            ("crates/carts/src/cart/line.rs", "//! Lines."),
        ];
        assert_eq!(findings(check, &nested), [""; 0]);
    }

    #[test]
    fn tests_need_none() {
        assert_eq!(of("#[cfg(test)]\nmod tests { pub fn a() {} }"), [""; 0]);
        assert_eq!(findings(check, &[("crates/carts/tests/it/main.rs", "pub fn a() {}")]), [""; 0]);
    }
}
