//! The faults that every format shares.

use catalog::{Fault, FaultCode};

/// Stands for the field where a whole row is at fault.
pub(crate) const ROW: &str = "row";

/// Stands for the field where a whole file is at fault.
const FILE: &str = "file";

pub(crate) fn too_long() -> Fault {
    Fault::new(ROW, FaultCode::TooLong, "The row is larger than 1 MiB.")
}

pub(crate) fn not_utf8() -> Fault {
    unreadable("The row is not UTF-8. Save the file as UTF-8.")
}

pub(crate) fn unreadable(reason: &'static str) -> Fault {
    Fault::new(ROW, FaultCode::Unreadable, reason)
}

pub(crate) fn missing(field: &'static str, reason: &'static str) -> Fault {
    Fault::new(field, FaultCode::Missing, reason)
}

pub(crate) fn missing_id() -> Fault {
    missing("external_id", "Every product needs an identifier.")
}

/// Variants of one product in two currencies.
pub(crate) fn two_currencies() -> Fault {
    Fault::new(
        "currency",
        FaultCode::InvalidValue,
        "All amounts of a product are in one currency; this one is in another.",
    )
}

pub(crate) fn truncated() -> Fault {
    let reason = "The file ends in the middle. Send the whole file again.";
    Fault::new(FILE, FaultCode::Truncated, reason)
}

pub(crate) fn empty_file() -> Fault {
    Fault::new(FILE, FaultCode::Truncated, "The file is empty.")
}

pub(crate) fn unreadable_file(reason: &'static str) -> Fault {
    Fault::new(FILE, FaultCode::Unreadable, reason)
}

/// How many there are, as a shop writes it.
pub(crate) fn whole_number(text: &str) -> Result<i64, Fault> {
    let reason = "Write a whole number.";
    text.trim().parse().map_err(|_| Fault::new("stock_quantity", FaultCode::InvalidValue, reason))
}
