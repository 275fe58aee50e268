//! A tantivy directory without fsync, which records the files that are written.
//!
//! Only the published version has to be durable: a restart begins with it, and verifies every file before use. So a
//! working copy need not survive a power failure, and a commit does not wait for a dozen syncs.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, DirectoryLock, FileHandle, Lock, MmapDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};

use super::written_files::WrittenFiles;
use crate::checksum::Checksum;
use crate::object_storage::with_suffix;

/// Prefix of the names of tantivy's merge threads, which open all files of a merged segment.
const MERGE_THREAD: &str = "merge_thread";

/// The directory of a working copy.
#[derive(Debug, Clone)]
pub(super) struct UnsyncedDirectory {
    path: PathBuf,
    mapped: MmapDirectory,
    written: WrittenFiles,
}

impl UnsyncedDirectory {
    pub(super) fn open(path: &Path, written: WrittenFiles) -> tantivy::Result<Self> {
        Ok(Self { path: path.to_owned(), mapped: MmapDirectory::open(path)?, written })
    }
}

/// A file that is flushed but not synced.
struct UnsyncedFile {
    file: File,
    path: PathBuf,
    checksum: Checksum,
    is_merge: bool,
    written: WrittenFiles,
}

impl Write for UnsyncedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.checksum.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl TerminatingWrite for UnsyncedFile {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.file.flush()?;
        let checksum = std::mem::take(&mut self.checksum);
        self.written.finish(&self.path, checksum.finish(), self.is_merge);
        Ok(())
    }
}

impl Directory for UnsyncedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.mapped.get_file_handle(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        if let Some(name) = path.to_str() {
            self.written.remove(name);
        }
        self.mapped.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.mapped.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let full = self.path.join(path);
        let opened = OpenOptions::new().write(true).create_new(true).open(&full);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        let thread = std::thread::current();
        Ok(BufWriter::new(Box::new(UnsyncedFile {
            file,
            path: full,
            checksum: Checksum::default(),
            is_merge: thread.name().is_some_and(|name| name.starts_with(MERGE_THREAD)),
            written: self.written.clone(),
        })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.mapped.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let path = self.path.join(path);
        let part = with_suffix(&path, ".part");
        fs::write(&part, bytes)?;
        fs::rename(part, path)
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        self.mapped.acquire_lock(lock)
    }

    fn watch(&self, watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.mapped.watch(watch_callback)
    }
}
