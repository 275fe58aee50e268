//! A manifest says what one published state of a shard consists of. It is named by its own checksum
//! and carries those of all its files, so whoever holds the name can check everything below it.

use jobs::Cursor;
use serde::{Deserialize, Serialize};

use crate::IndexError;
use crate::checksum;
use crate::objects::Objects;
use crate::schema::FORMAT;

/// Which part of which index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) generation: i32,
    pub(crate) shard: i16,
}

impl Place {
    /// Where the objects of a generation lie.
    pub(crate) fn generation_prefix(generation: i32) -> String {
        format!("generation-{generation}")
    }

    /// Where the objects of the shard lie.
    pub(crate) fn prefix(self) -> String {
        format!("{}/shard-{}", Self::generation_prefix(self.generation), self.shard)
    }

    /// The name of a manifest.
    pub(crate) fn manifest_key(self, sha256: &str) -> String {
        format!("{}/manifest-{sha256}.json", self.prefix())
    }

    /// The name of a file: two writers that give the same name to different bytes do not meet.
    pub(crate) fn file_key(self, sha256: &str) -> String {
        format!("{}/file-{sha256}", self.prefix())
    }

    /// The name of the shard's cursor in the outbox.
    pub(crate) fn cursor_name(self) -> String {
        format!("search/{}/{}", self.generation, self.shard)
    }
}

/// One published state of a shard.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) format: i32,
    pub(crate) place: Place,
    pub(crate) version: i64,
    /// The `meta.json` of the index, as it is written.
    pub(crate) meta: String,
    pub(crate) files: Vec<ManifestFile>,
    /// Everything up to here is in it.
    pub(crate) cursor: Cursor,
    pub(crate) documents: u64,
}

/// A file of a published state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestFile {
    /// What the index calls it.
    pub(crate) name: String,
    /// What the object store calls it.
    pub(crate) key: String,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl Manifest {
    /// Its bytes and their checksum.
    pub(crate) fn encode(&self) -> Result<(String, Vec<u8>), IndexError> {
        let bytes = serde_json::to_vec(self)
            .map_err(|error| IndexError::Local(format!("a manifest: {error}")))?;
        Ok((checksum::of_bytes(&bytes), bytes))
    }

    /// Reads a manifest, if it is the one of this name and place.
    pub(crate) fn decode(place: Place, sha256: &str, bytes: &[u8]) -> Result<Self, IndexError> {
        let damaged = |what: &str| IndexError::Damaged(format!("manifest {sha256}: {what}"));
        if checksum::of_bytes(bytes) != sha256 {
            return Err(damaged("its checksum is another"));
        }
        let manifest: Self = serde_json::from_slice(bytes).map_err(|_| damaged("unreadable"))?;
        if manifest.place != place || manifest.format != FORMAT {
            return Err(damaged("it is of another shard or form"));
        }
        if manifest.files.iter().any(|file| !is_plain(&file.name) || !is_plain(&file.sha256)) {
            return Err(damaged("a file has no plain name"));
        }
        Ok(manifest)
    }

    /// Fetches a manifest.
    pub(crate) async fn fetch(
        objects: &Objects,
        place: Place,
        sha256: &str,
    ) -> Result<Self, IndexError> {
        let bytes = objects.bytes(&place.manifest_key(sha256)).await?;
        Self::decode(place, sha256, &bytes)
    }
}

/// Whether a name stays in the directory it is put into.
fn is_plain(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    !name.is_empty() && !name.starts_with('.') && name.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        Manifest {
            format: FORMAT,
            place: Place { generation: 3, shard: 1 },
            version: 7,
            meta: String::from("{}"),
            files: Vec::new(),
            cursor: Cursor::default(),
            documents: 0,
        }
    }

    #[test]
    fn only_what_was_written_is_read() {
        let manifest = manifest();
        let (sha256, mut bytes) = manifest.encode().unwrap();
        assert_eq!(Manifest::decode(manifest.place, &sha256, &bytes).unwrap().version, 7);
        let other = Place { generation: 3, shard: 2 };
        assert!(Manifest::decode(other, &sha256, &bytes).unwrap_err().is_damage());
        bytes[3] ^= 1;
        assert!(Manifest::decode(manifest.place, &sha256, &bytes).unwrap_err().is_damage());
        assert!(Manifest::decode(manifest.place, &sha256, &bytes[..9]).unwrap_err().is_damage());
    }

    #[test]
    fn a_name_cannot_lead_elsewhere() {
        for name in ["a.idx", "0f.12.del", "languages.json"] {
            assert!(is_plain(name), "{name}");
        }
        for name in ["", "../a", "a/b", ".managed.json", "a\0"] {
            assert!(!is_plain(name), "{name}");
        }
    }
}
