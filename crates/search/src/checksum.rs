//! SHA-256, as lower-case hexadecimal digits: what a file is, and what it is called.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};

/// A checksum under way.
#[derive(Default)]
pub(crate) struct Checksum {
    hash: Sha256,
    bytes: u64,
}

impl Checksum {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    }

    /// The digits, and how many bytes they stand for.
    pub(crate) fn finish(self) -> (String, u64) {
        (digits(&self.hash.finalize()), self.bytes)
    }

    /// Adds all there is to read, and hands it on.
    pub(crate) fn pass(&mut self, from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
        let mut buffer = vec![0; 1 << 18];
        loop {
            let count = from.read(&mut buffer)?;
            if count == 0 {
                return Ok(());
            }
            self.add(&buffer[..count]);
            to.write_all(&buffer[..count])?;
        }
    }
}

/// The checksum of some bytes.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    digits(&Sha256::digest(bytes))
}

/// The checksum of a file and its length. Blocks.
pub(crate) fn of_file(path: &Path) -> io::Result<(String, u64)> {
    let mut checksum = Checksum::default();
    checksum.pass(&mut File::open(path)?, &mut io::sink())?;
    Ok(checksum.finish())
}

/// Whether a file is there and is what it should be. Blocks.
pub(crate) fn holds(path: &Path, sha256: &str, bytes: u64) -> bool {
    let fits = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == bytes);
    fits && of_file(path).is_ok_and(|(found, _)| found == sha256)
}

fn digits(hash: &[u8]) -> String {
    let mut text = String::with_capacity(hash.len() * 2);
    for byte in hash {
        let _ = write!(text, "{byte:02x}");
    }
    text
}
