//! Checks of the first hour of merchants, agent developers and operators: no dead ends, and everyone sees their own data.

mod agents;
mod imports;
mod index;
mod merchants;
mod not_served;
mod operators;
mod pages;
mod purchases;

use crate::report::{Check, Schedule};

/// Most checks wait for processes, jobs and the index, and each has stores of its own.
pub(crate) const SCHEDULE: Schedule = Schedule {
    lanes: 5,
    first: &[
        "pages-accessible",
        "broken-files",
        "llms-purchase",
        "sales-end",
        "retired-categories",
        "guides",
        "store-diversity",
        "export-round-trip",
        "seed-again",
    ],
    alone: &["index-lanes"],
};

/// Long checks that take turns in the short form, by day.
pub(crate) const ROTATED: &[&str] = &[
    "index-lanes",
    "documented-metrics",
    "backup-and-restore",
    "store-diversity",
    "seed-again",
    "check-config",
];

/// How many of them a day has.
pub(crate) const ROTATED_OF_DAY: usize = 2;

/// The checks of this topic.
pub(crate) const CHECKS: &[Check] = &[
    // Merchants and their stores.
    Check {
        name: "own-products",
        guarantee: "a merchant sees every product by cursor, and why agents do not see some; as stored beside what agents see",
        run: |trial| Box::pin(merchants::own_products(trial)),
    },
    Check {
        name: "export-round-trip",
        guarantee: "the export of every demo store, NDJSON and CSV, imported into another store, is exported again as the same bytes; imported into its own store, it changes nothing",
        run: |trial| Box::pin(merchants::export_round_trip(trial)),
    },
    Check {
        name: "settings-patch",
        guarantee: "a patch changes what it names; a replacement without the version is 428, with a stale one 409; concurrent patches lose nothing",
        run: |trial| Box::pin(merchants::settings_patch(trial)),
    },
    Check {
        name: "settings-values",
        guarantee: "settings that would never apply are refused with their field and the value meant; those of the demo stores are accepted",
        run: |trial| Box::pin(merchants::settings_values(trial)),
    },
    Check {
        name: "owner-endpoints",
        guarantee: "an owner changes the profile, pauses, reopens and closes the store; staff and keys do not; an operator's decision stands",
        run: |trial| Box::pin(merchants::owner_endpoints(trial)),
    },
    Check {
        name: "agent-analytics",
        guarantee: "a merchant sees by day which agents started and completed checkouts; the registry lists every store with endpoint and score",
        run: |trial| Box::pin(merchants::agent_analytics(trial)),
    },
    // Purchases.
    Check {
        name: "approved-buyer-pays",
        guarantee: "a purchase approved on the page is paid at its `checkout_url`; a store where nobody can pay holds nothing",
        run: |trial| Box::pin(purchases::approved_buyer_pays(trial)),
    },
    Check {
        name: "merchant-checkouts",
        guarantee: "a merchant sees the checkouts of the store by cursor, status and hold; an order has the address that the person entered",
        run: |trial| Box::pin(purchases::merchant_checkouts(trial)),
    },
    Check {
        name: "copied-approval-form",
        guarantee: "a program that copies the approval form and submits it without the headers of a browser decides nothing",
        run: |trial| Box::pin(purchases::copied_approval_form(trial)),
    },
    Check {
        name: "copied-store-key",
        guarantee: "a store key of any scope does not change where buyers pay",
        run: |trial| Box::pin(purchases::copied_store_key(trial)),
    },
    // Imports.
    Check {
        name: "broken-files",
        guarantee: "broken files of every format, encoding and kind: state, reason, counts and warnings of each job are right, and nothing is lost silently",
        run: |trial| Box::pin(imports::broken_files(trial)),
    },
    Check {
        name: "sales-end",
        guarantee: "prices change by themselves when a sale begins or ends, in product, cart and search; an expired sale is never sold",
        run: |trial| Box::pin(imports::sales_end(trial)),
    },
    Check {
        name: "foreign-currency-import",
        guarantee: "a product in another currency is kept in it, reported, and refused by carts",
        run: |trial| Box::pin(imports::foreign_currency_import(trial)),
    },
    Check {
        name: "stock-unknown",
        guarantee: "a product without stock is unknown: it can be bought, and does not count as in stock",
        run: |trial| Box::pin(imports::stock_unknown(trial)),
    },
    Check {
        name: "retired-categories",
        guarantee: "a category whose last product was retired leaves the profile and the list of categories",
        run: |trial| Box::pin(imports::retired_categories(trial)),
    },
    // The search index.
    Check {
        name: "index-lanes",
        guarantee: "a store replaces its catalog at full speed: a changed price of another store is found within 2 s (p95 of every ten seconds; in the short form, within a quarter of the time by which that store is behind, if it is longer), and health is unaffected",
        run: |trial| Box::pin(index::lanes::prove(trial)),
    },
    Check {
        name: "store-diversity",
        guarantee: "across stores, one store has at most 3 of each 10 results while others have as good ones; no result is lost or repeated over all pages",
        run: |trial| Box::pin(index::diversity::prove(trial)),
    },
    // Agents.
    Check {
        name: "one-name-at-both-doors",
        guarantee: "destination, shipping option, ids and confirmation have one name at both doors; former names are accepted and not advertised",
        run: |trial| Box::pin(agents::names::prove(trial)),
    },
    Check {
        name: "hints-that-work",
        guarantee: "an agent that follows every hint literally gets from nothing to an approved checkout in at most nine REST calls",
        run: |trial| Box::pin(agents::hints::prove(trial)),
    },
    Check {
        name: "unknown-fields",
        guarantee: "an unknown field or query parameter is named with the nearest known one, a syntax error with line and column, at both doors; nothing is changed",
        run: |trial| Box::pin(agents::input::unknown_fields(trial)),
    },
    Check {
        name: "absent-values",
        guarantee: "\"\" and null mean absent for optional fields at both doors; a maximum price of 0 is an error that says so",
        run: |trial| Box::pin(agents::input::absent_values(trial)),
    },
    Check {
        name: "wrong-kind-of-credential",
        guarantee: "a valid credential of the wrong kind gets 403 and which one is needed, an invalid one 401",
        run: |trial| Box::pin(agents::credentials::wrong_kind(trial)),
    },
    Check {
        name: "strict-schemas",
        guarantee: "input schemas stay within what strict providers accept, the listing below 60 kB; descriptions, _meta and instructions agree on keys",
        run: |trial| Box::pin(agents::schemas::prove(trial)),
    },
    Check {
        name: "sandbox-keys",
        guarantee: "the 51st sandbox key of an address is issued, and its oldest ends",
        run: |trial| Box::pin(agents::credentials::sandbox_keys(trial)),
    },
    Check {
        name: "search-with-a-key",
        guarantee: "a key never gives fewer searches than none",
        run: |trial| Box::pin(agents::credentials::search_with_a_key(trial)),
    },
    // Pages and guides.
    Check {
        name: "llms-purchase",
        guarantee: "the blocks of the served llms.txt, run in order within the rate limits: a purchase over REST and one over MCP, each in at most nine calls, with a person's approval",
        run: |trial| Box::pin(pages::llms_purchase(trial)),
    },
    Check {
        name: "guides",
        guarantee: "every block of the guides for merchants and developers of agents runs: curl, Python, TypeScript",
        run: |trial| Box::pin(pages::guides(trial)),
    },
    Check {
        name: "pages-for-browsers",
        guarantee: "errors are pages for browsers and stay JSON for programs",
        run: |trial| Box::pin(pages::for_browsers(trial)),
    },
    Check {
        name: "public-pages",
        guarantee: "directory, stores and products can be read in a browser, by links; merchant text is text, nothing of another host is loaded, and stores that are not open are not shown",
        run: |trial| Box::pin(pages::public_pages(trial)),
    },
    Check {
        name: "pages-accessible",
        guarantee: "the public pages on phone and desktop, light and dark: no serious violation found by axe, nothing wider than the screen",
        run: |trial| Box::pin(pages::accessible(trial)),
    },
    Check {
        name: "shown-expiry",
        guarantee: "the approval page shows until when the confirmation can be decided",
        run: |trial| Box::pin(pages::shown_expiry(trial)),
    },
    // Operators.
    Check {
        name: "check-config",
        guarantee: "a misspelt variable, invalid values, unreachable engines and unusable paths are found in one run, without a secret",
        run: |trial| Box::pin(operators::check_config::prove(trial)),
    },
    Check {
        name: "log-lines",
        guarantee: "the log line of a request has tool, error code, store and key id, and no credential",
        run: |trial| Box::pin(operators::log_lines::prove(trial)),
    },
    Check {
        name: "import-log",
        guarantee: "the end of each import is one log line with state, counts and reason",
        run: |trial| Box::pin(operators::import_log::prove(trial)),
    },
    Check {
        name: "engine-transitions",
        guarantee: "Redis is killed and comes back under load: one log line each, with the duration of the outage",
        run: |trial| Box::pin(operators::engine_transitions::prove(trial)),
    },
    Check {
        name: "documented-metrics",
        guarantee: "server, worker and index writer serve exactly the metrics of docs/metrics.md, each with a help text",
        run: |trial| Box::pin(operators::documented_metrics::prove(trial)),
    },
    Check {
        name: "seed-again",
        guarantee: "changed, deleted and added products of a demo store: souk seed restores the demo data, and a second run writes nothing",
        run: |trial| Box::pin(operators::seed_again::prove(trial)),
    },
    Check {
        name: "backup-and-restore",
        guarantee: "a backup restored on another cluster: later changes are gone from database and index, sessions have ended, and new changes are found",
        run: |trial| Box::pin(operators::backup_and_restore::prove(trial)),
    },
    // What is not served yet.
    Check {
        name: "expected-failures",
        guarantee: "what is not served yet is tried and fails as stated: search by meaning, appeals, accounts of buyers",
        run: |trial| Box::pin(not_served::prove(trial)),
    },
];
