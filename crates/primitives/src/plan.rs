//! What an account pays for.

use std::str::FromStr;

/// A subscription plan (spec §8). What each allows is known to `limits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Plan {
    /// No subscription.
    Free,
    /// The first paid plan.
    Starter,
    /// For growing use.
    Growth,
    /// For professional use.
    Pro,
    /// By contract.
    Enterprise,
}

impl Plan {
    /// All plans, cheapest first.
    pub const ALL: [Self; 5] =
        [Self::Free, Self::Starter, Self::Growth, Self::Pro, Self::Enterprise];

    /// The name, as on the wire and in PostgreSQL.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "FREE",
            Self::Starter => "STARTER",
            Self::Growth => "GROWTH",
            Self::Pro => "PRO",
            Self::Enterprise => "ENTERPRISE",
        }
    }
}

impl FromStr for Plan {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|plan| plan.name() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plan_is_found_by_its_name() {
        for plan in Plan::ALL {
            assert_eq!(plan.name().parse(), Ok(plan));
        }
        assert!("free".parse::<Plan>().is_err());
    }
}
