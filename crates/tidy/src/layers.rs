//! Every crate of the workspace, and the crates that each may depend on.
//!
//! The table is ordered from the lowest layer up. A row names only rows above it in this file, so
//! dependencies point down the layers. Every crate may use `primitives`, which is not repeated.

use Allowed::{AllExcept, FoundationAndDomains, Only};
use Layer::{Application, Domain, Door, Foundation};

/// All crates, lowest layer first.
pub(crate) const CRATES: &[Crate] = &[
    // Foundation: no commerce.
    krate(
        Foundation,
        "primitives",
        "ids, money, slugs, plans, scopes, timestamps, error codes, pagination",
        Only(&[]),
    ),
    krate(Foundation, "schema", "JSON Schema validation of what doors receive", Only(&[])),
    krate(
        Foundation,
        "outbound",
        "the HTTP client of requests to URLs that others choose: vetted addresses, DNS, limits",
        Only(&[]),
    ),
    krate(
        Foundation,
        "database",
        "connection pool, `Work` and `Reading`, roles, migrations, the cell directory",
        Only(&[]),
    ),
    krate(
        Foundation,
        "jobs",
        "job queue, schedules, outbox, idempotency keys",
        Only(&["database"]),
    ),
    // Parties and access.
    krate(
        Domain,
        "identity",
        "accounts, logins, tokens, agent keys, store keys, audit log",
        Only(&["database", "jobs"]),
    ),
    krate(
        Domain,
        "merchants",
        "stores, policies, settings, standing, notices to merchants",
        Only(&["database", "jobs", "identity"]),
    ),
    krate(Domain, "limits", "rate limits and concurrency limits, counted in Redis", Only(&[])),
    // Products.
    krate(
        Domain,
        "catalog",
        "products, variants, categories, prices, stock, the import of products",
        Only(&["database", "jobs", "merchants"]),
    ),
    krate(
        Domain,
        "search",
        "product search: queries, ranking, the index, its writer and replicas",
        Only(&["database", "jobs", "merchants", "catalog"]),
    ),
    krate(
        Domain,
        "carts",
        "carts, quotes, shipping options, discounts, taxes, the terms of a purchase",
        Only(&["database", "jobs", "merchants", "catalog"]),
    ),
    // Purchase. `webhooks` owns the event payloads, so it does not depend on `orders`; `orders`
    // publishes events through it.
    krate(
        Domain,
        "payments",
        "payment providers and payment attempts",
        Only(&["database", "jobs"]),
    ),
    krate(
        Domain,
        "webhooks",
        "webhook endpoints of merchants, events, signatures, their delivery",
        Only(&["outbound", "database", "jobs", "identity", "merchants"]),
    ),
    krate(
        Domain,
        "orders",
        "orders: statuses, shipments, refunds, returns, disputes",
        Only(&["database", "jobs", "merchants", "catalog", "webhooks"]),
    ),
    krate(
        Domain,
        "checkout",
        "checkout sessions, stock holds, human confirmation, payment, expiry",
        Only(&[
            "database",
            "jobs",
            "identity",
            "merchants",
            "catalog",
            "carts",
            "payments",
            "webhooks",
            "orders",
        ]),
    ),
    // Scoring: reads the data of other domains; no domain depends on it.
    krate(
        Domain,
        "trust",
        "trust scores: evidence, methodologies, computation, effects, history",
        Only(&[
            "database",
            "jobs",
            "identity",
            "merchants",
            "catalog",
            "webhooks",
            "orders",
            "checkout",
        ]),
    ),
    // Doors: translate between a protocol and the domains, and never depend on each other.
    krate(Door, "connectors", "readers and writers of product feeds", Only(&["catalog"])),
    krate(Door, "mcp", "the MCP endpoint of each store; one file per tool", FoundationAndDomains),
    krate(
        Door,
        "rest",
        "the REST API; one file per resource; the OpenAPI document",
        FoundationAndDomains,
    ),
    krate(
        Door,
        "web",
        "pages for people: approval, payment, stores and products, API documentation; `llms.txt`",
        FoundationAndDomains,
    ),
    // The application, its demo data, and its tests.
    krate(
        Application,
        "demo",
        "the demo data that `souk seed` loads",
        Only(&[
            "database",
            "jobs",
            "identity",
            "merchants",
            "catalog",
            "carts",
            "orders",
            "checkout",
            "trust",
        ]),
    ),
    krate(
        Application,
        "testkit",
        "a fresh database per test, a fixed clock, seeded randomness, a store builder",
        Only(&["database", "jobs", "identity", "merchants", "catalog", "demo"]),
    ),
    krate(
        Application,
        "server",
        "configuration, wiring, commands; whole-app tests",
        AllExcept(&["testkit", "tidy", "proof"]),
    ),
    krate(Application, "proof", "what `just prove` and `just bench` run", AllExcept(&["tidy"])),
    krate(Application, "tidy", "the architecture and style test; generates this map", Only(&[])),
];

/// The crate that every other crate may use.
pub(crate) const EVERYWHERE: &str = "primitives";

/// Crates that tests may use in addition to those of their crate's row.
const FOR_TESTS: &[&str] = &["testkit", "demo"];

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) layer: Layer,
    pub(crate) name: &'static str,
    /// What the crate contains, for the map in `ARCHITECTURE.md`.
    pub(crate) content: &'static str,
    pub(crate) allowed: Allowed,
}

/// The layer of a crate, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    Foundation,
    Domain,
    Door,
    Application,
}

impl Layer {
    pub(crate) const ALL: [Self; 4] = [Foundation, Domain, Door, Application];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Foundation => "foundation",
            Domain => "domain",
            Door => "door",
            Application => "application",
        }
    }
}

/// The crates that a crate may depend on, besides `primitives`.
#[derive(Debug)]
pub(crate) enum Allowed {
    Only(&'static [&'static str]),
    FoundationAndDomains,
    AllExcept(&'static [&'static str]),
}

const fn krate(layer: Layer, name: &'static str, content: &'static str, allowed: Allowed) -> Crate {
    Crate { layer, name, content, allowed }
}

/// Returns the row of a crate, or `None` if the table has none.
pub(crate) fn find(name: &str) -> Option<&'static Crate> {
    CRATES.iter().find(|krate| krate.name == name)
}

impl Crate {
    pub(crate) fn may_use(&self, other: &str) -> bool {
        let layer = find(other).map(|krate| krate.layer);
        other == EVERYWHERE
            || match self.allowed {
                Only(names) => names.contains(&other),
                FoundationAndDomains => matches!(layer, Some(Foundation | Domain)),
                AllExcept(names) => !names.contains(&other),
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
        for (index, krate) in CRATES.iter().enumerate() {
            let Only(names) = krate.allowed else { continue };
            for name in names {
                let above = CRATES.iter().take(index).any(|other| other.name == *name);
                assert!(above, "{} names {name}, which is not above it", krate.name);
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
    fn limits_and_connectors_do_not_use_the_database() {
        for krate in ["limits", "connectors"].map(|name| find(name).unwrap()) {
            assert!(!krate.may_use("database") && !krate.may_use("jobs"), "{}", krate.name);
        }
    }

    #[test]
    fn the_server_uses_everything_except_test_crates() {
        let server = find("server").unwrap();
        assert!(server.may_use("web") && server.may_use("demo"));
        assert!(!server.may_use("testkit") && !server.may_use("proof"));
        assert!(find("proof").unwrap().may_use("server"));
        assert!(!find("tidy").unwrap().may_use("database"));
    }
}
