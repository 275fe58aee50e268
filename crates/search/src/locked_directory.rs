//! A subdirectory that one process uses exclusively. Processes on one machine may share a configured directory: each
//! locks the lowest free number, and so finds the files of an earlier process.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of processes per directory; more indicate a mistake.
const DIRECTORIES_MAX: usize = 64;

/// A directory that no other process uses while this value lives.
#[derive(Debug)]
pub(crate) struct LockedDirectory {
    pub(crate) path: PathBuf,
    /// The lock is released when the file is closed or the process ends.
    _lock: File,
}

impl LockedDirectory {
    /// Locks the first free subdirectory, and creates it if necessary.
    pub(crate) fn acquire(directory: &Path, role: &str) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        for number in 0..DIRECTORIES_MAX {
            let lock = File::create(directory.join(format!("{role}-{number}.lock")))?;
            match lock.try_lock() {
                Ok(()) => {
                    let path = directory.join(format!("{role}-{number}"));
                    fs::create_dir_all(&path)?;
                    return Ok(Self { path, _lock: lock });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("too many processes share the directory"))
    }
}
