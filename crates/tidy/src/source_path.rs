//! Paths relative to the workspace root, separated by `/`.

/// The path of a file, relative to the workspace root.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourcePath(String);

impl SourcePath {
    pub(crate) fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the crate that contains the file: the directory below `crates/`.
    pub(crate) fn krate(&self) -> Option<&str> {
        Some(self.crate_and_rest()?.0)
    }

    /// Returns the path within its crate (`src/cart.rs`), or the whole path of a file outside any crate.
    pub(crate) fn within_crate(&self) -> &str {
        self.crate_and_rest().map_or(&self.0, |(_, rest)| rest)
    }

    fn crate_and_rest(&self) -> Option<(&str, &str)> {
        self.0.strip_prefix("crates/")?.split_once('/')
    }

    pub(crate) fn in_src(&self) -> bool {
        self.krate().is_some() && self.within_crate().starts_with("src/")
    }

    /// Whether the whole file is test code: it is under `tests/` or is a `tests.rs`.
    pub(crate) fn is_test(&self) -> bool {
        self.file_name() == "tests.rs" || self.directories().any(|directory| directory == "tests")
    }

    pub(crate) fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The directories within the crate, outermost first.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &str> {
        let path = self.within_crate();
        let directories = path.rsplit_once('/').map_or("", |(directories, _)| directories);
        directories.split('/').filter(|directory| !directory.is_empty())
    }

    pub(crate) fn extension(&self) -> &str {
        self.file_name().rsplit_once('.').map_or("", |(_, extension)| extension)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_crate_and_directories() {
        let path = SourcePath::new("crates/mcp/src/tools/create_cart.rs");
        assert_eq!(path.krate(), Some("mcp"));
        assert_eq!(path.within_crate(), "src/tools/create_cart.rs");
        assert_eq!(path.directories().collect::<Vec<_>>(), ["src", "tools"]);
        assert_eq!((path.file_name(), path.extension()), ("create_cart.rs", "rs"));
        assert!(path.in_src() && !path.is_test());
    }

    #[test]
    fn test_files_are_recognized_by_their_path() {
        assert!(SourcePath::new("crates/carts/tests/it/main.rs").is_test());
        assert!(SourcePath::new("crates/carts/src/cart/tests.rs").is_test());
        assert!(!SourcePath::new("crates/testkit/src/lib.rs").is_test());
        assert_eq!(SourcePath::new("docs/guide.md").krate(), None);
    }
}
