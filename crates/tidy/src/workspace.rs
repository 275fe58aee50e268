//! The workspace, read once into memory. Rules read nothing else, so tests pass them samples.

use std::{collections::BTreeSet, fs, io, path::Path, process::Command, thread};

use crate::{
    manifest::Manifest, migration::Migration, rust_file::RustFile, source_path::SourcePath, sql,
};

/// All text files of the workspace, and what was parsed from them.
#[derive(Debug, Default)]
pub struct Workspace {
    pub(crate) texts: Vec<TextFile>,
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) rust: Vec<RustFile>,
    pub(crate) migrations: Vec<Migration>,
    /// Text that may be SQL: string literals and `.sql` files of crates, without tests.
    pub(crate) sql: Vec<SqlText>,
}

/// A text file.
#[derive(Debug)]
pub(crate) struct TextFile {
    pub(crate) path: SourcePath,
    pub(crate) text: String,
}

/// Possible SQL of a crate.
#[derive(Debug)]
pub(crate) struct SqlText {
    pub(crate) path: SourcePath,
    pub(crate) krate: String,
    pub(crate) tokens: Vec<sql::Token>,
}

impl Workspace {
    /// Reads every text file below `root` that git tracks or would track, except lock files and
    /// query data of sqlx.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut texts = Vec::new();
        for path in listed_by_git(root)? {
            match fs::read(root.join(&path)) {
                Ok(bytes) if bytes.contains(&0) => {} // A binary file.
                Ok(bytes) => {
                    texts.push((path, String::from_utf8_lossy(&bytes).into_owned()));
                }
                // Git still lists a tracked file that has just been deleted.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Self::of(texts))
    }

    /// Builds a workspace from files given by path and content.
    pub(crate) fn of<P: Into<String>, T: Into<String>>(
        files: impl IntoIterator<Item = (P, T)>,
    ) -> Self {
        let text =
            |(path, text): (P, T)| TextFile { path: SourcePath::new(path), text: text.into() };
        let texts: Vec<TextFile> = files.into_iter().map(text).collect();
        let manifests = texts.iter().filter_map(|t| Manifest::read(&t.path, &t.text)).collect();
        let migrations = texts.iter().filter_map(|t| Migration::read(&t.path, &t.text)).collect();
        let rust = read_rust(&texts);
        let sql = rust.iter().flat_map(sql_of_literals).chain(texts.iter().filter_map(sql_file));
        let sql = sql.collect();
        Self { texts, manifests, rust, migrations, sql }
    }

    /// Describes the size of the workspace.
    #[must_use]
    pub(crate) fn summary(&self) -> String {
        let functions: usize = self.rust.iter().map(|file| file.facts.functions.len()).sum();
        let (crates, files) = (self.manifests.len(), self.rust.len());
        format!("{crates} crates, {files} files, {functions} functions")
    }

    /// Returns the text file at a path.
    pub(crate) fn text(&self, path: &str) -> Option<&TextFile> {
        self.texts.iter().find(|text| text.path.as_str() == path)
    }
}

fn listed_by_git(root: &Path) -> io::Result<BTreeSet<String>> {
    let output = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("git ls-files failed: {reason}")));
    }
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(listing.split('\0').filter(|path| is_source(path)).map(str::to_owned).collect())
}

/// Whether the rules apply to the file: it is neither a lock file nor query data of sqlx.
fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !path.is_empty()
        && !path.starts_with(".sqlx/")
        && !["Cargo.lock", "package-lock.json"].contains(&name)
}

/// Parses the Rust files on all cores, because parsing takes most of the time.
fn read_rust(texts: &[TextFile]) -> Vec<RustFile> {
    let sources: Vec<&TextFile> =
        texts.iter().filter(|text| text.path.extension() == "rs").collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let parse_share = |index: usize| {
        let share = sources.iter().skip(index).step_by(cores);
        share.map(|text| RustFile::read(&text.path, &text.text)).collect::<Vec<_>>()
    };
    let mut files: Vec<RustFile> = thread::scope(|scope| {
        let threads: Vec<_> =
            (0..cores).map(|index| scope.spawn(move || parse_share(index))).collect();
        let join = |handle: thread::ScopedJoinHandle<'_, Vec<RustFile>>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect()
    });
    files.sort_by(|left, right| left.path.cmp(&right.path));
    files
}

fn sql_of_literals(file: &RustFile) -> Vec<SqlText> {
    let Some(krate) = file.path.krate().filter(|_| file.path.in_src()) else {
        return Vec::new();
    };
    let literals = file.facts.literals.iter().filter(|literal| !file.is_test(literal.line));
    let text = |tokens| SqlText { path: file.path.clone(), krate: krate.to_owned(), tokens };
    literals.map(|literal| text(literal.sql())).collect()
}

fn sql_file(file: &TextFile) -> Option<SqlText> {
    let krate = file.path.krate()?.to_owned();
    let is_sql = file.path.extension() == "sql" && file.path.in_src() && !file.path.is_test();
    let tokens = || sql::tokens(&file.text, 1);
    is_sql.then(|| SqlText { path: file.path.clone(), krate, tokens: tokens() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_classified() {
        let workspace = Workspace::of([
            ("crates/carts/Cargo.toml", ""),
            ("crates/carts/src/table.rs", "const A: &str = \"SELECT 1\";"),
            ("crates/carts/src/price.sql", "SELECT 2"),
            ("crates/carts/tests/it/main.rs", "const A: &str = \"SELECT 3\";"),
            ("crates/database/migrations/1_carts.sql", "-- owner: carts"),
        ]);
        assert_eq!(workspace.summary(), "1 crates, 2 files, 0 functions");
        assert_eq!((workspace.migrations.len(), workspace.sql.len()), (1, 2));
    }

    #[test]
    fn literals_in_tests_are_not_sql_of_the_crate() {
        let text = "#[cfg(test)]\nmod tests { const A: &str = \"SELECT 1\"; }";
        assert!(Workspace::of([("crates/carts/src/cart.rs", text)]).sql.is_empty());
    }

    #[test]
    fn lock_files_and_query_data_are_not_read() {
        for path in [".sqlx/query-1.json", "Cargo.lock", "dev/clients/package-lock.json", ""] {
            assert!(!is_source(path), "{path}");
        }
        for path in ["justfile", ".ci/run", "crates/web/templates/home.html", "docs/openapi.json"] {
            assert!(is_source(path), "{path}");
        }
    }
}
