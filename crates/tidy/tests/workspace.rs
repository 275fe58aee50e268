//! Applies every rule to this workspace.

use std::path::Path;

use tidy::Workspace;

#[test]
fn the_workspace_has_no_findings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = Workspace::read(&root).expect("the workspace can be read");
    // Guards against passing because nothing was read.
    let summary = tidy::summary(&workspace);
    assert!(!summary.starts_with("0 crates"), "{summary}");
    assert!(!summary.contains(" 0 retired"), "{summary}");

    let findings = tidy::check(&workspace);
    let lines = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(findings.is_empty(), "{} findings:\n{lines}", findings.len());
}
