//! The map of the house: every crate, and which others it may use.
//!
//! Read it from the ground up. A row names only rows above it, so imports point down.
//! Everyone may use `primitives`; it is not repeated.

use Floor::{Domain, Door, Ground, Whole};
use May::{AllBut, GroundAndDomains, Only};

pub(crate) const HOUSE: &[Room] = &[
    // Ground: knows no commerce.
    room(Ground, "primitives", Only(&[])),
    room(Ground, "database", Only(&[])),
    room(Ground, "jobs", Only(&["database"])),
    // Who.
    room(Domain, "merchants", Only(&["database", "jobs"])),
    room(Domain, "identity", Only(&["database", "jobs"])),
    room(Domain, "limits", Only(&["database", "jobs"])),
    // What.
    room(Domain, "catalog", Only(&["database", "jobs", "merchants"])),
    room(Domain, "search", Only(&["database", "jobs", "merchants", "catalog"])),
    room(Domain, "carts", Only(&["database", "jobs", "merchants", "catalog"])),
    // Buying. `webhooks` owns the event payloads, so it knows no orders; orders hand it events.
    room(Domain, "payments", Only(&["database", "jobs"])),
    room(Domain, "webhooks", Only(&["database", "jobs", "merchants"])),
    room(Domain, "orders", Only(&["database", "jobs", "merchants", "catalog", "webhooks"])),
    room(
        Domain,
        "checkout",
        Only(&[
            "database",
            "jobs",
            "merchants",
            "catalog",
            "carts",
            "payments",
            "webhooks",
            "orders",
        ]),
    ),
    // Judging: reads the facts that others already keep, and nobody calls it.
    room(
        Domain,
        "trust",
        Only(&["database", "jobs", "merchants", "catalog", "orders", "checkout"]),
    ),
    // Doors: translate, never decide, and never import each other.
    room(Door, "connectors", Only(&["database", "jobs", "merchants", "catalog", "orders"])),
    room(Door, "mcp", GroundAndDomains),
    room(Door, "rest", GroundAndDomains),
    room(Door, "web", GroundAndDomains),
    // The whole, and what stands around it.
    room(Whole, "demo", Only(&["database", "jobs", "merchants", "catalog", "trust"])),
    room(Whole, "testkit", Only(&["database", "jobs", "merchants", "catalog", "demo"])),
    room(Whole, "server", AllBut(&["testkit", "tidy", "proof"])),
    room(Whole, "proof", AllBut(&[])),
    room(Whole, "tidy", Only(&[])),
];

/// What tests may use besides what their crate may use.
const FOR_TESTS: &[&str] = &["testkit", "demo"];

/// One crate.
#[derive(Debug)]
pub(crate) struct Room {
    pub(crate) floor: Floor,
    pub(crate) name: &'static str,
    pub(crate) may_use: May,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floor {
    Ground,
    Domain,
    Door,
    Whole,
}

/// Which crates a crate may use, besides `primitives`.
#[derive(Debug)]
pub(crate) enum May {
    Only(&'static [&'static str]),
    GroundAndDomains,
    AllBut(&'static [&'static str]),
}

const fn room(floor: Floor, name: &'static str, may_use: May) -> Room {
    Room { floor, name, may_use }
}

/// The row of a crate, if the house has such a room.
pub(crate) fn find(name: &str) -> Option<&'static Room> {
    HOUSE.iter().find(|room| room.name == name)
}

impl Room {
    pub(crate) fn may_use(&self, other: &str) -> bool {
        let floor = find(other).map(|room| room.floor);
        other == "primitives"
            || match self.may_use {
                Only(names) => names.contains(&other),
                GroundAndDomains => matches!(floor, Some(Ground | Domain)),
                AllBut(names) => !names.contains(&other),
            }
    }

    pub(crate) fn may_use_in_tests(&self, other: &str) -> bool {
        self.may_use(other) || FOR_TESTS.contains(&other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_only_rows_above_it() {
        for (index, room) in HOUSE.iter().enumerate() {
            let Only(names) = room.may_use else { continue };
            for name in names {
                let above = HOUSE.iter().take(index).any(|other| other.name == *name);
                assert!(above, "{} names {name}, which is not above it", room.name);
            }
        }
    }

    #[test]
    fn doors_use_domains_and_never_each_other() {
        for door in ["mcp", "rest", "web"].map(|name| find(name).unwrap()) {
            assert!(door.may_use("checkout") && door.may_use("jobs") && door.may_use("primitives"));
            for other in ["mcp", "rest", "web", "connectors", "server", "testkit", "demo"] {
                assert!(!door.may_use(other), "{} → {other}", door.name);
            }
            assert!(door.may_use_in_tests("testkit") && !door.may_use_in_tests("server"));
        }
    }

    #[test]
    fn the_whole_uses_everything_but_its_test_tools() {
        let server = find("server").unwrap();
        assert!(server.may_use("web") && server.may_use("demo"));
        assert!(!server.may_use("testkit") && !server.may_use("proof"));
        assert!(find("proof").unwrap().may_use("server"));
        assert!(!find("tidy").unwrap().may_use("database"));
    }
}
