//! Paths, as the rules speak of them: from the workspace root, with `/`.

/// Where a file lives, from the workspace root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourcePath(String);

impl SourcePath {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The crate that holds the file: the folder below `crates/`.
    pub(crate) fn krate(&self) -> Option<&str> {
        Some(self.crate_and_rest()?.0)
    }

    /// The path inside its crate (`src/cart.rs`), or the whole path of a file outside any crate.
    pub(crate) fn inside(&self) -> &str {
        self.crate_and_rest().map_or(&self.0, |(_, rest)| rest)
    }

    fn crate_and_rest(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix("crates/")?.split_once('/')
    }

    pub(crate) fn in_src(&self) -> bool {
        self.krate().is_some() && self.inside().starts_with("src/")
    }

    /// Whether the whole file is test code: it lives under `tests/` or is a `tests.rs`.
    pub(crate) fn is_test(&self) -> bool {
        self.file_name() == "tests.rs" || self.folders().any(|folder| folder == "tests")
    }

    pub(crate) fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The folders inside the crate, outermost first.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &str> {
        let inside = self.inside();
        let folders = inside.rsplit_once('/').map_or("", |(folders, _)| folders);
        folders.split('/').filter(|folder| !folder.is_empty())
    }

    pub(crate) fn extension(&self) -> &str {
        self.file_name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_knows_its_crate_and_its_folders() {
        let path = SourcePath::new("crates/mcp/src/tools/create_cart.rs");
        assert_eq!(path.krate(), Some("mcp"));
        assert_eq!(path.inside(), "src/tools/create_cart.rs");
        assert_eq!(path.folders().collect::<Vec<_>>(), ["src", "tools"]);
        assert_eq!((path.file_name(), path.extension()), ("create_cart.rs", "rs"));
        assert!(path.in_src() && !path.is_test());
    }

    #[test]
    fn test_files_are_known_by_their_place() {
        assert!(SourcePath::new("crates/carts/tests/it/main.rs").is_test());
        assert!(SourcePath::new("crates/carts/src/cart/tests.rs").is_test());
        assert!(!SourcePath::new("crates/testkit/src/lib.rs").is_test());
        assert_eq!(SourcePath::new("docs/guide.md").krate(), None);
    }
}
