//! Rebuilds the crate when a migration is added or changed, because migrations are embedded in the binary.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
