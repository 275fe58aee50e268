//! Measurements of search rounds: throughput, CPU time and index size.

use std::collections::BTreeMap;
use std::path::Path;

use crate::report::Failure;

/// One round over a set of queries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) per_second: f64,
    pub(crate) cpu_micros: f64,
}

/// CPU microseconds per query, by kind; the mean of all kinds is under `MIXED`.
pub(crate) type ByKind = BTreeMap<String, f64>;

/// The key for all kinds together, each with the same weight.
pub(crate) const MIXED: &str = "all, mixed";

/// Returns the CPU time of the calling thread so far.
pub(crate) fn thread_cpu_nanos() -> Result<u64, Failure> {
    first_number(Path::new("/proc/thread-self/schedstat"))
}

/// Returns the CPU time so far of all current threads of a process.
pub(crate) fn cpu_nanos(pid: u32) -> Result<u64, Failure> {
    let mut sum = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may exit meanwhile.
        sum += first_number(&thread?.path().join("schedstat")).unwrap_or(0);
    }
    Ok(sum)
}

fn first_number(path: &Path) -> Result<u64, Failure> {
    let text = std::fs::read_to_string(path)?;
    let number = text.split_whitespace().next().and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("unknown format of {}", path.display()).into())
}

/// Converts the nanoseconds of all queries to microseconds per query.
#[expect(clippy::cast_precision_loss, reason = "exact for 104 days of CPU time")]
pub(crate) fn micros_per_query(nanos: u64, queries: usize) -> f64 {
    nanos as f64 / 1_000.0 / queries as f64
}

/// Converts a count to a float.
pub(crate) fn as_float(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns the total size of all files below a directory.
pub(crate) fn directory_bytes(directory: &Path) -> Result<u64, Failure> {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        sum += if metadata.is_dir() { directory_bytes(&entry.path())? } else { metadata.len() };
    }
    Ok(sum)
}

/// Returns the bytes per product.
#[expect(clippy::cast_precision_loss, reason = "bytes of one machine")]
pub(crate) fn bytes_per_product(bytes: u64, products: u32) -> f64 {
    bytes as f64 / f64::from(products.max(1))
}
