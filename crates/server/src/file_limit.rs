//! The limit of open files: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the process opens besides connections of clients: connections to engines, the index, logs.
const OTHER_FILES: u64 = 512;

/// Raises the soft limit of open files to the hard limit, and returns how many connections fit into it, at most `wanted`.
pub(crate) fn connections_max(wanted: usize) -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    let current = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    };
    // No limit: as many as wanted.
    let Some(files) = current else { return wanted };
    let possible =
        usize::try_from(files.saturating_sub(OTHER_FILES).max(files / 2)).unwrap_or(wanted);
    if possible < wanted {
        tracing::warn!(
            files,
            connections = possible,
            "the limit of open files is too low for SOUK_CONNECTIONS_MAX; fewer connections are accepted"
        );
    }
    wanted.min(possible)
}
