//! Acts of operators.

use std::sync::LazyLock;

use identity::{Actor, Reason};
use merchants::Administration;

/// Returns the administration by an operator, for tests that do not look at its reason.
#[must_use]
pub fn administration() -> Administration<'static> {
    static REASON: LazyLock<Reason> = LazyLock::new(|| "a test".parse().expect("a valid reason"));
    Administration { actor: Actor::Operator, reason: &REASON }
}
