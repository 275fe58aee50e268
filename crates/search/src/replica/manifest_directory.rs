//! A read-only tantivy directory over the files of one manifest, which are stored under their checksums.
//!
//! Two versions may use one file name for different content, but never one checksum. So the files of all versions are
//! in one directory, and a file that two versions share is mapped into memory once.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::Directory;
use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    DirectoryLock, FileHandle, Lock, MmapDirectory, WatchCallback, WatchHandle, WritePtr,
};

use crate::manifest::Manifest;

/// The files of one manifest, by their names in the index.
#[derive(Clone)]
pub(super) struct ManifestDirectory {
    files: MmapDirectory,
    names: Arc<HashMap<PathBuf, PathBuf>>,
    meta: Arc<[u8]>,
}

impl ManifestDirectory {
    pub(super) fn new(files: MmapDirectory, manifest: &Manifest) -> Self {
        let name = |file: &crate::manifest::ManifestFile| {
            (PathBuf::from(&file.name), PathBuf::from(&file.sha256))
        };
        let names = Arc::new(manifest.files.iter().map(name).collect());
        Self { files, names, meta: manifest.meta.as_bytes().into() }
    }
}

impl fmt::Debug for ManifestDirectory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ManifestDirectory({} files)", self.names.len())
    }
}

fn read_only() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "a published index is read-only")
}

impl Directory for ManifestDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        match self.names.get(path) {
            Some(file) => self.files.get_file_handle(file),
            None => Err(OpenReadError::FileDoesNotExist(path.to_owned())),
        }
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(path == Path::new("meta.json") || self.names.contains_key(path))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        if path == Path::new("meta.json") {
            Ok(self.meta.to_vec())
        } else {
            Err(OpenReadError::FileDoesNotExist(path.to_owned()))
        }
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let io_error = Arc::new(read_only());
        Err(DeleteError::IoError { io_error, filepath: path.to_owned() })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    /// The directory never changes, so that no lock is needed.
    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
