//! A directory of one's own below a configured one. Processes on one machine may be given the same
//! directory: each takes the lowest number that is free, and finds there what it left.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// More than this on one machine is a mistake.
const SLOTS_MAX: usize = 64;

/// A directory that no other process uses, as long as this lives.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) path: PathBuf,
    /// The lock goes with the file, and with the process.
    _lock: File,
}

impl Slot {
    pub(crate) fn take(directory: &Path, role: &str) -> io::Result<Self> {
        fs::create_dir_all(directory)?;
        for number in 0..SLOTS_MAX {
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
        Err(io::Error::other("too many processes share one directory"))
    }
}
