//! The rules hold for this very workspace.

use std::path::Path;

use tidy::House;

#[test]
fn the_house_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let house = House::read(&root).expect("the workspace can be read");
    // Guards against passing because nothing was read.
    assert!(!house.summary().starts_with("0 crates"), "{}", house.summary());

    let findings = tidy::check(&house);
    let lines = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join(
        "
",
    );
    assert!(findings.is_empty(), "{} findings:\n{lines}", findings.len());
}
