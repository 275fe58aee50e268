//! The limit of open files: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that the process opens besides connections of clients: connections to engines, the index, logs.
const OTHER_FILES: u64 = 512;

/// Returns how many connections of clients fit into the limit of open files, at most `wanted`.
pub(crate) fn connections_max(wanted: usize) -> usize {
    // No limit: as many as wanted.
    let Some(files) = raise() else { return wanted };
    let possible = connections_within(files);
    if possible < wanted {
        tracing::warn!(
            files,
            connections = possible,
            "the limit of open files is too low for SOUK_CONNECTIONS_MAX; fewer connections are accepted"
        );
    }
    wanted.min(possible)
}

/// Returns how many concurrent webhook requests fit into the limit of open files, at most `wanted`. For each of them,
/// connections to one host may be idle.
pub(crate) fn webhook_slots_max(wanted: usize) -> usize {
    // Two while a host is resolved or both of its address families are tried, and two idle ones.
    const FILES_PER_SLOT: usize = 4;
    let Some(files) = raise() else { return wanted };
    let possible = connections_within(files) / FILES_PER_SLOT;
    if possible < wanted {
        tracing::warn!(
            files,
            slots = possible,
            "the limit of open files is too low for SOUK_WEBHOOK_SLOTS; fewer webhooks are sent at the same time"
        );
    }
    wanted.min(possible)
}

/// Raises the soft limit of open files to the hard limit, and returns it; `None` if there is none.
fn raise() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// Returns how many connections a process can have that may open so many files.
fn connections_within(files: u64) -> usize {
    usize::try_from(files.saturating_sub(OTHER_FILES).max(files / 2)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_files_are_left_for_everything_else() {
        assert_eq!(connections_within(10_000), 10_000 - 512);
        assert_eq!(connections_within(1024), 512);
        assert_eq!(connections_within(256), 128);
    }
}
