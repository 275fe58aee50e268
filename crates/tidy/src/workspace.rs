//! The workspace, read once into memory. Rules look only at this, so tests give them samples.

use std::{collections::BTreeSet, fs, io, path::Path, process::Command, thread};

use crate::{
    manifest::Manifest, migration::Migration, rust_file::RustFile, source_path::SourcePath, sql,
};

/// All text of the workspace, and what was understood of it.
#[derive(Debug, Default)]
pub struct House {
    pub(crate) texts: Vec<Text>,
    pub(crate) manifests: Vec<Manifest>,
    pub(crate) rust: Vec<RustFile>,
    pub(crate) migrations: Vec<Migration>,
    /// SQL that a crate runs, or text that might be: its literals and `.sql` files, without tests.
    pub(crate) sql: Vec<SqlText>,
}

/// A text file.
#[derive(Debug)]
pub(crate) struct Text {
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

impl House {
    /// Reads every text file below `root` that git tracks or would track.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut texts = Vec::new();
        for path in listed_by_git(root)? {
            match fs::read(root.join(&path)) {
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

    /// A house made of these files, by path from its root.
    pub(crate) fn of<P: Into<String>, T: Into<String>>(
        files: impl IntoIterator<Item = (P, T)>,
    ) -> Self {
        let text = |(path, text): (P, T)| Text { path: SourcePath::new(path), text: text.into() };
        let texts: Vec<Text> = files.into_iter().map(text).collect();
        let manifests = texts.iter().filter_map(|t| Manifest::read(&t.path, &t.text)).collect();
        let migrations = texts.iter().filter_map(|t| Migration::read(&t.path, &t.text)).collect();
        let rust = read_rust(&texts);
        let sql = rust.iter().flat_map(sql_of_literals).chain(texts.iter().filter_map(sql_file));
        let sql = sql.collect();
        Self { texts, manifests, rust, migrations, sql }
    }

    /// How much there is, in words.
    #[must_use]
    pub fn summary(&self) -> String {
        let functions: usize = self.rust.iter().map(|file| file.facts.functions.len()).sum();
        let (crates, files) = (self.manifests.len(), self.rust.len());
        format!("{crates} crates, {files} files, {functions} functions")
    }

    pub(crate) fn text(&self, path: &str) -> Option<&Text> {
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
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(io::Error::other(format!("git could not list the files: {why}")));
    }
    let listing = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(listing.split('\0').filter(|path| is_text(path)).map(str::to_owned).collect())
}

fn is_text(path: &str) -> bool {
    let path = SourcePath::new(path);
    let extensions = ["md", "rs", "sql", "toml", "sh", "yml", "yaml"];
    extensions.contains(&path.extension()) || path.file_name() == "justfile"
}

/// Parsing is nearly all of the work, so the files are dealt out to the cores.
fn read_rust(texts: &[Text]) -> Vec<RustFile> {
    let sources: Vec<&Text> = texts.iter().filter(|text| text.path.extension() == "rs").collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let deal = |hand: usize| {
        let mine = sources.iter().skip(hand).step_by(cores);
        mine.map(|text| RustFile::read(&text.path, &text.text)).collect::<Vec<_>>()
    };
    let mut files: Vec<RustFile> = thread::scope(|scope| {
        let hands: Vec<_> = (0..cores).map(|hand| scope.spawn(move || deal(hand))).collect();
        let join = |hand: thread::ScopedJoinHandle<'_, Vec<RustFile>>| {
            hand.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        hands.into_iter().flat_map(join).collect()
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

fn sql_file(file: &Text) -> Option<SqlText> {
    let krate = file.path.krate()?.to_owned();
    let is_sql = file.path.extension() == "sql" && file.path.in_src() && !file.path.is_test();
    let tokens = || sql::tokens(&file.text, 1);
    is_sql.then(|| SqlText { path: file.path.clone(), krate, tokens: tokens() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_sorted_into_what_they_are() {
        let house = House::of([
            ("crates/carts/Cargo.toml", ""),
            ("crates/carts/src/table.rs", "const A: &str = \"SELECT 1\";"),
            ("crates/carts/src/price.sql", "SELECT 2"),
            ("crates/carts/tests/it/main.rs", "const A: &str = \"SELECT 3\";"),
            ("crates/database/migrations/1_carts.sql", "-- owner: carts"),
        ]);
        assert_eq!(house.summary(), "1 crates, 2 files, 0 functions");
        assert_eq!((house.migrations.len(), house.sql.len()), (1, 2));
    }

    #[test]
    fn literals_of_tests_are_not_sql_of_the_crate() {
        let text = "#[cfg(test)]\nmod tests { const A: &str = \"SELECT 1\"; }";
        assert!(House::of([("crates/carts/src/cart.rs", text)]).sql.is_empty());
    }
}
