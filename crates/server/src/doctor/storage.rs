//! Directories and free disk space.

use std::path::Path;

use rustix::fs::Access;
use search::ObjectStorage;

use super::Finding;
use crate::Config;

const GIBIBYTE: u64 = 1 << 30;
/// Free space below which an index can no longer be updated safely.
const FREE_PROBLEM: u64 = GIBIBYTE;
const FREE_WARNING: u64 = 5 * GIBIBYTE;

/// Levels of directories that a process creates.
const MISSING_MAX: usize = 2;

/// Checks the directories in the settings. Each finding is about one of them.
pub(crate) fn check(config: &Config) -> Vec<(&'static str, Finding)> {
    let directory = check_directory("SOUK_SEARCH_DIRECTORY", &config.search_directory);
    let objects = config.search_objects.as_str();
    let local = objects.strip_prefix("file://").unwrap_or(objects);
    let objects = if local.contains("://") {
        check_bucket(local)
    } else {
        check_directory("SOUK_SEARCH_OBJECTS", Path::new(local))
    };
    let mut findings = vec![("SOUK_SEARCH_DIRECTORY", directory), ("SOUK_SEARCH_OBJECTS", objects)];
    if config.disk_bytes_min > 0 {
        findings.extend(check_disk(&config.disk).map(|finding| ("SOUK_DISK", finding)));
    }
    findings
}

/// Checks that the address of an object store can be used; it is not contacted.
fn check_bucket(address: &str) -> Finding {
    match ObjectStorage::open(address) {
        Ok(_) => Finding::ok("objects", format!("{address} is an object store")),
        Err(error) => {
            let remedy = "correct SOUK_SEARCH_OBJECTS and `AWS_…`";
            Finding::problem("objects", error.to_string(), remedy)
        }
    }
}

/// Without the free space of this directory, every upload is admitted.
fn check_disk(path: &Path) -> Option<Finding> {
    let error = rustix::fs::statvfs(path).err()?;
    let text = format!("{}: {error}; its free space is unknown", path.display());
    Some(Finding::problem("disk", text, "set SOUK_DISK to a directory on the disk of the database"))
}

fn check_directory(setting: &str, path: &Path) -> Finding {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let shown = path.display();
    if path.exists() && !path.is_dir() {
        let remedy = format!("set {setting} to a directory");
        return Finding::problem("disk", format!("{shown} is not a directory"), remedy);
    }
    // Processes create missing directories, but a path that is missing as a whole is a mistake.
    let existing = path.ancestors().take(MISSING_MAX + 1).find(|ancestor| ancestor.is_dir());
    let Some(existing) = existing.filter(|existing| existing.parent().is_some()) else {
        let remedy = format!("create the directory, or correct {setting}");
        return Finding::problem("disk", format!("{shown} does not exist"), remedy);
    };
    if let Err(error) = rustix::fs::access(existing, Access::WRITE_OK | Access::EXEC_OK) {
        let remedy = format!("let the user of this process write to {}", existing.display());
        return Finding::problem("disk", format!("{shown} is not writable: {error}"), remedy);
    }
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
