//! A manifest lists the files of one published version of a shard. It is named by its own checksum and contains those
//! of all its files, so that its name suffices to verify everything.

use jobs::Cursor;
use serde::{Deserialize, Serialize};

use crate::IndexError;
use crate::checksum;
use crate::object_storage::ObjectStorage;
use crate::schema::FORMAT;

/// Identifies a shard of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct ShardId {
    pub(crate) generation: i32,
    pub(crate) shard: i16,
}

impl ShardId {
    /// Returns the key prefix of the objects of a generation.
    pub(crate) fn generation_prefix(generation: i32) -> String {
        format!("generation-{generation}")
    }

    /// Returns the key prefix of the objects of the shard.
    pub(crate) fn prefix(self) -> String {
        format!("{}/shard-{}", Self::generation_prefix(self.generation), self.shard)
    }

    /// Returns the key of a manifest.
    pub(crate) fn manifest_key(self, sha256: &str) -> String {
        format!("{}/manifest-{sha256}.json", self.prefix())
    }

    /// Returns the key of a file. It depends on the content alone, so that writers cannot overwrite each other's files.
    pub(crate) fn file_key(self, sha256: &str) -> String {
        format!("{}/file-{sha256}", self.prefix())
    }

    /// Returns the name of the shard's cursor in the outbox.
    pub(crate) fn cursor_name(self) -> String {
        format!("search/{}/{}", self.generation, self.shard)
    }
}

/// One published version of a shard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: i32,
    #[serde(rename = "place")]
    pub(crate) shard_id: ShardId,
    pub(crate) version: i64,
    /// Content of tantivy's `meta.json`.
    pub(crate) meta: String,
    pub(crate) files: Vec<ManifestFile>,
    /// Files that later versions will contain, so that replicas download them before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) upcoming: Vec<ManifestFile>,
    /// Position in the outbox up to which changes are included.
    pub(crate) cursor: Cursor,
    pub(crate) documents: u64,
}

/// A file of a published version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestFile {
    /// Name within the index.
    pub(crate) name: String,
    /// Key in object storage.
    pub(crate) key: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl Manifest {
    /// Returns the checksum and the bytes of the manifest.
    pub(crate) fn encode(&self) -> Result<(String, Vec<u8>), IndexError> {
        let bytes = serde_json::to_vec(self)
            .map_err(|error| IndexError::LocalFile(format!("manifest: {error}")))?;
        Ok((checksum::of_bytes(&bytes), bytes))
    }

    /// Decodes a manifest. Fails if checksum, shard or format differ.
    pub(crate) fn decode(
        shard_id: ShardId,
        sha256: &str,
        bytes: &[u8],
    ) -> Result<Self, IndexError> {
        let damaged = |what: &str| IndexError::Damaged(format!("manifest {sha256}: {what}"));
        if checksum::of_bytes(bytes) != sha256 {
            return Err(damaged("checksum mismatch"));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|_| damaged("unreadable"))?;
        if manifest.shard_id != shard_id || manifest.format != FORMAT {
            return Err(damaged("shard or format mismatch"));
        }
        if manifest
            .files
            .iter()
            .chain(&manifest.upcoming)
            .any(|file| !is_safe_name(&file.name) || !is_safe_name(&file.sha256))
        {
            return Err(damaged("invalid file name"));
        }
        Ok(manifest)
    }

    /// Downloads a manifest.
    pub(crate) async fn download(
        objects: &ObjectStorage,
        shard_id: ShardId,
        sha256: &str,
    ) -> Result<Self, IndexError> {
        let bytes = objects.get(&shard_id.manifest_key(sha256)).await?;
        Self::decode(shard_id, sha256, &bytes)
    }

    /// Returns a version without files.
    #[cfg(test)]
    pub(crate) fn empty(shard_id: ShardId) -> Self {
        Self {
            format: FORMAT,
            shard_id,
            version: 1,
            meta: String::from("{}"),
            files: Vec::new(),
            upcoming: Vec::new(),
            cursor: Cursor::default(),
            documents: 0,
        }
    }
}

/// Returns whether a file name cannot lead outside its directory.
fn is_safe_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_manifest_is_damaged() {
        let shard_id = ShardId { generation: 3, shard: 1 };
        let manifest = Manifest { version: 7, ..Manifest::empty(shard_id) };
        let (sha256, mut bytes) = manifest.encode().unwrap();
        assert_eq!(Manifest::decode(manifest.shard_id, &sha256, &bytes).unwrap().version, 7);
        let other = ShardId { generation: 3, shard: 2 };
        assert!(Manifest::decode(other, &sha256, &bytes).unwrap_err().is_damage());
        bytes[3] ^= 1;
        assert!(Manifest::decode(manifest.shard_id, &sha256, &bytes).unwrap_err().is_damage());
        assert!(Manifest::decode(manifest.shard_id, &sha256, &bytes[..9]).unwrap_err().is_damage());
    }

    #[test]
    fn a_file_name_cannot_leave_its_directory() {
        for name in ["a.idx", "0f.12.del", "languages.json"] {
            assert!(is_safe_name(name), "{name}");
        }
        for name in ["", "../a", "a/b", ".managed.json", "a\0"] {
            assert!(!is_safe_name(name), "{name}");
        }
    }
}
