//! SHA-256 checksums in lower-case hexadecimal: they verify files and name them.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

/// An incremental checksum.
#[derive(Default)]
pub(crate) struct Checksum {
    hash: Sha256,
    bytes: u64,
}

impl Checksum {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    }

    /// Returns the checksum and the number of bytes it covers.
    pub(crate) fn finish(self) -> (String, u64) {
        (hex::encode(self.hash.finalize()), self.bytes)
    }

    /// Copies everything from `from` to `to` and adds it to the checksum. Blocks.
    pub(crate) fn copy(&mut self, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 18];
        loop {
            let count = from.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            self.update(&buffer[..count]);
            to.write_all(&buffer[..count])?;
        }
    }
}

/// Returns the checksum of some bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Returns the checksum of a file and its length. Blocks.
pub(crate) fn of_file(path: &Path) -> io::Result<(String, u64)> {
    let mut checksum = Checksum::default();
    checksum.copy(&mut File::open(path)?, &mut io::sink())?;
    Ok(checksum.finish())
}

/// Returns whether the file exists and has this checksum and length. Blocks.
pub(crate) fn matches(path: &Path, sha256: &str, bytes: u64) -> bool {
    let same_length =
        std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == bytes);
    same_length && of_file(path).is_ok_and(|(found, _)| found == sha256)
}
