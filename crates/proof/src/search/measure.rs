//! What a round of searches took.

use std::collections::BTreeMap;
use std::path::Path;

use crate::report::Failure;

/// One round over a set of queries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round {
    pub(crate) per_second: f64,
    pub(crate) cpu_micros: f64,
}

/// CPU microseconds of a query by its kind; the mean of all is under `MIXED`.
pub(crate) type ByKind = BTreeMap<String, f64>;

/// The kind of all kinds together, each with the same weight.
pub(crate) const MIXED: &str = "all, mixed";

/// CPU time so far of the calling thread, in nanoseconds.
pub(crate) fn own_cpu_nanos() -> Result<u64, Failure> {
    first_number(Path::new("/proc/thread-self/schedstat"))
}

/// CPU time so far of a process, in nanoseconds: of all threads it has now.
pub(crate) fn cpu_nanos(pid: u32) -> Result<u64, Failure> {
    let mut sum = 0;
    for thread in std::fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end while we look.
        sum += first_number(&thread?.path().join("schedstat")).unwrap_or(0);
    }
    Ok(sum)
}

fn first_number(path: &Path) -> Result<u64, Failure> {
    let text = std::fs::read_to_string(path)?;
    let number = text.split_whitespace().next().and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("an unknown form of {}", path.display()).into())
}

/// Nanoseconds of so many queries as microseconds of one.
#[expect(clippy::cast_precision_loss, reason = "exact for 104 days of CPU time")]
pub(crate) fn micros_each(nanos: u64, queries: usize) -> f64 {
    nanos as f64 / 1_000.0 / queries as f64
}

/// A number of things as a figure to calculate with.
pub(crate) fn figure(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Bytes of all files below a directory.
pub(crate) fn bytes_below(directory: &Path) -> Result<u64, Failure> {
    let mut sum = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let about = entry.metadata()?;
        sum += if about.is_dir() { bytes_below(&entry.path())? } else { about.len() };
    }
    Ok(sum)
}

/// Bytes of one product.
#[expect(clippy::cast_precision_loss, reason = "bytes of one machine")]
pub(crate) fn bytes_each(bytes: u64, products: u32) -> f64 {
    bytes as f64 / f64::from(products.max(1))
}
