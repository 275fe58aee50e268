//! A published state as the index sees a directory: names of its own, files that are called by their
//! checksums, nothing that can be written.
//!
//! Two states may call different bytes by one name, but never by one checksum. So the files of all
//! states lie side by side, and what two states share is mapped into memory once.

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

/// The state of one manifest.
#[derive(Clone)]
pub(super) struct Published {
    files: MmapDirectory,
    names: Arc<HashMap<PathBuf, PathBuf>>,
    meta: Arc<[u8]>,
}

impl Published {
    pub(super) fn new(files: MmapDirectory, manifest: &Manifest) -> Self {
        let name = |file: &crate::manifest::ManifestFile| {
            (PathBuf::from(&file.name), PathBuf::from(&file.sha256))
        };
        let names = Arc::new(manifest.files.iter().map(name).collect());
        Self { files, names, meta: manifest.meta.as_bytes().into() }
    }
}

impl fmt::Debug for Published {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Published({} files)", self.names.len())
    }
}

fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, "a published index is not written")
}

impl Directory for Published {
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
        let io_error = Arc::new(refused());
        Err(DeleteError::IoError { io_error, filepath: path.to_owned() })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(refused(), path.to_owned()))
    }

    fn atomic_write(&self, _path: &Path, _data: &[u8]) -> io::Result<()> {
        Err(refused())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    /// Nothing changes here, so nobody has to wait for anybody.
    fn acquire_lock(&self, _lock: &Lock) -> Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, _watch_callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}
