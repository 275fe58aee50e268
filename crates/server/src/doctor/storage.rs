//! Directories and free disk space.

use std::path::{Path, PathBuf};

use super::Finding;
use crate::Config;

const GIBIBYTE: u64 = 1 << 30;
/// Free space below which an index can no longer be updated safely.
const FREE_PROBLEM: u64 = GIBIBYTE;
const FREE_WARNING: u64 = 5 * GIBIBYTE;

/// Levels of directories that a process creates.
const MISSING_MAX: usize = 2;

/// Checks the local directories of the search index.
pub(super) fn check(config: &Config) -> Vec<Finding> {
    let mut directories = vec![("SOUK_SEARCH_DIRECTORY", config.search_directory.clone())];
    if !config.search_objects.contains("://") {
        directories.push(("SOUK_SEARCH_OBJECTS", PathBuf::from(&config.search_objects)));
    }
    directories.iter().map(|(setting, path)| check_directory(setting, path)).collect()
}

fn check_directory(setting: &str, path: &Path) -> Finding {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let shown = path.display();
    // Processes create missing directories, but a path that is missing as a whole is a mistake.
    let existing = path.ancestors().take(MISSING_MAX + 1).find(|ancestor| ancestor.is_dir());
    let Some(existing) = existing.filter(|existing| existing.parent().is_some()) else {
        let remedy = format!("create the directory, or correct {setting}");
        return Finding::problem("disk", format!("{shown} does not exist"), remedy);
    };
    let Ok(stat) = rustix::fs::statvfs(existing) else {
        let remedy = format!("check the permissions of {setting}");
        return Finding::problem("disk", format!("{shown} cannot be read"), remedy);
    };
    let free = stat.f_bavail.saturating_mul(stat.f_frsize);
    let text = format!("{:.1} GiB free at {shown}", in_gibibytes(free));
    let remedy = "free some space; without it the index is not updated";
    match free {
        free if free < FREE_PROBLEM => Finding::problem("disk", text, remedy),
        free if free < FREE_WARNING => Finding::warning("disk", text, remedy),
        _ => Finding::ok("disk", text),
    }
}

fn in_gibibytes(bytes: u64) -> f64 {
    let mebibytes = u32::try_from(bytes >> 20).unwrap_or(u32::MAX);
    f64::from(mebibytes) / 1024.0
}
