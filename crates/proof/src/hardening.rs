//! Checks of abuse, faults and neighbours: each is an attack or a failure, and the guard that contains it.

mod address_sites;
mod administrators;
mod busy_store;
mod calls_without_id;
mod confirmation_modes;
mod crowded_queue;
pub(crate) mod deployment;
mod deployment_doctor;
mod disabled_accounts;
mod dropped_variant;
mod engine_faults;
mod expiry;
mod failing_schedule;
mod feed_memory;
mod input_limits;
mod interrupted_migration;
mod job_commands;
mod key_lookups;
mod large_bodies;
mod late_payment;
mod mandate_policy;
mod neighbours;
mod old_rows;
mod paths_in_logs;
mod payment_redirect;
mod private_metrics;
mod product_choice;
mod purchase_flow;
mod refusals_as_results;
mod repeated_writes;
mod role_of_stores;
mod rotated_keys;
pub(crate) mod shop;
mod shown_examples;
mod silent_connections;
mod store_key_scopes;
mod store_status;
mod trust_methodology;
mod unreadable_products;
mod unreadable_rows;
mod upload_quotas;
mod uploading_neighbour;

pub(crate) use deployment::{demo_database, product_of};

use crate::report::Check;

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "shown-purchase",
        guarantee: "the three shown calls and nothing else; the person enters the address, sees the final total and pays exactly that",
        run: |trial| Box::pin(purchase_flow::shown_purchase(trial)),
    },
    Check {
        name: "no-payment-page",
        guarantee: "a store without a payment page: nothing is held",
        run: |trial| Box::pin(purchase_flow::no_payment_page(trial)),
    },
    Check {
        name: "declined-purchase",
        guarantee: "a person's No stands for the same items, in any cart",
        run: |trial| Box::pin(purchase_flow::declined_purchase(trial)),
    },
    Check {
        name: "form-without-browser",
        guarantee: "an approval form without the headers of a browser is rejected; a decision is recorded with address and browser",
        run: |trial| Box::pin(purchase_flow::form_without_browser(trial)),
    },
    Check {
        name: "swapped-buyer",
        guarantee: "an approval does not cover another buyer",
        run: |trial| Box::pin(purchase_flow::swapped_buyer(trial)),
    },
    Check {
        name: "confirmation-modes",
        guarantee: "a confirmation counts in the mode in which the person was asked; no answer of a client replaces the page where the page is required",
        run: |trial| Box::pin(confirmation_modes::prove(trial)),
    },
    Check {
        name: "hoarded-stock",
        guarantee: "one key holds a limited part of a stock for a limited time, and the merchant can release it",
        run: |trial| Box::pin(purchase_flow::hoarded_stock(trial)),
    },
    Check {
        name: "unreadable-rows",
        guarantee: "sessions that cannot be read or ended among those of many merchants: every other one expires within two runs",
        run: |trial| Box::pin(unreadable_rows::prove(trial)),
    },
    Check {
        name: "unreadable-products",
        guarantee: "products that the index writer cannot read among many: every other one is found, the writer goes on, and the skipped ones are counted and logged",
        run: |trial| Box::pin(unreadable_products::prove(trial)),
    },
    Check {
        name: "late-payment",
        guarantee: "a payment reported after a session was canceled or has expired is an order to review or a refund to make",
        run: |trial| Box::pin(late_payment::prove(trial)),
    },
    Check {
        name: "dropped-variant",
        guarantee: "a variant dropped by its merchant while checkouts hold units of it: what was begun ends as it should, nothing new is begun, and stock and holds balance",
        run: |trial| Box::pin(dropped_variant::prove(trial)),
    },
    Check {
        name: "foreign-currency",
        guarantee: "a product in another currency than its store: no cart takes it, and nothing of it is held",
        run: |trial| Box::pin(product_choice::foreign_currency(trial)),
    },
    Check {
        name: "single-variant",
        guarantee: "a product with a single variant is bought by its product id",
        run: |trial| Box::pin(product_choice::single_variant(trial)),
    },
    Check {
        name: "shown-examples",
        guarantee: "the requests that the specification shows, by a plain HTTP client and by MCP clients: every answer as shown",
        run: |trial| Box::pin(shown_examples::prove(trial)),
    },
    Check {
        name: "calls-without-id",
        guarantee: "a call without id is executed and answered for a plain HTTP caller; of an MCP client it is a notification",
        run: |trial| Box::pin(calls_without_id::prove(trial)),
    },
    Check {
        name: "refusals-as-results",
        guarantee: "a refused call of an MCP client is a failed result with HTTP 200; a plain HTTP caller gets the status",
        run: |trial| Box::pin(refusals_as_results::prove(trial)),
    },
    Check {
        name: "payment-redirect",
        guarantee: "nobody but an owner decides where buyers pay, and only on hosts that an operator allowed",
        run: |trial| Box::pin(payment_redirect::prove(trial)),
    },
    Check {
        name: "store-key-scopes",
        guarantee: "a store key calls the endpoints of its scopes and no others",
        run: |trial| Box::pin(store_key_scopes::prove(trial)),
    },
    Check {
        name: "role-of-stores",
        guarantee: "PostgreSQL itself refuses the role of stores what the standing of a store follows from",
        run: |trial| Box::pin(role_of_stores::prove(trial)),
    },
    Check {
        name: "store-status",
        guarantee: "a suspended, paused or closed store is closed for agents within seconds; what somebody has there stays reachable",
        run: |trial| Box::pin(store_status::prove(trial)),
    },
    Check {
        name: "administrators",
        guarantee: "what administrators do needs their right and a reason, and is recorded with both",
        run: |trial| Box::pin(administrators::prove(trial)),
    },
    Check {
        name: "disabled-accounts",
        guarantee: "tokens and agent keys of a disabled account stop working everywhere within five seconds",
        run: |trial| Box::pin(disabled_accounts::prove(trial)),
    },
    Check {
        name: "rotated-keys",
        guarantee: "an agent that rotates its key keeps its carts, sessions and idempotency keys",
        run: |trial| Box::pin(rotated_keys::prove(trial)),
    },
    Check {
        name: "key-lookups",
        guarantee: "while PostgreSQL is away, calls with unknown keys are answered within seconds and do not queue up",
        run: |trial| Box::pin(key_lookups::prove(trial)),
    },
    Check {
        name: "mandate-policy",
        guarantee: "settings reject a confirmation policy that no purchase could meet",
        run: |trial| Box::pin(mandate_policy::prove(trial)),
    },
    Check {
        name: "trust-methodology",
        guarantee: "the published thresholds are those of the specification, and what is not in effect says so",
        run: |trial| Box::pin(trust_methodology::prove(trial)),
    },
    Check {
        name: "repeated-writes",
        guarantee: "a write repeated with its idempotency key takes effect once, keys and cancellations included",
        run: |trial| Box::pin(repeated_writes::prove(trial)),
    },
    Check {
        name: "crowded-queue",
        guarantee: "hundreds of long imports of one merchant: hold expiry and jobs of other merchants start as soon as without them",
        run: |trial| Box::pin(crowded_queue::prove(trial)),
    },
    Check {
        name: "upload-quotas",
        guarantee: "a merchant that exceeds a quota of bytes, rows, imports or products is refused with the quota and what to do; nothing of it is stored",
        run: |trial| Box::pin(upload_quotas::prove(trial)),
    },
    Check {
        name: "feed-memory",
        guarantee: "the feeds that take the most memory, as many at once as a merchant may import: server and worker grow by less than 256 MB",
        run: |trial| Box::pin(feed_memory::prove(trial)),
    },
    Check {
        name: "uploading-neighbour",
        guarantee: "one merchant uploads and imports at its limit: checkouts at another store and the release of its expired holds stay within 1.5 times",
        run: |trial| Box::pin(uploading_neighbour::prove(trial)),
    },
    Check {
        name: "failing-schedule",
        guarantee: "a scheduled job that fails in every period stays one job, and works again once the cause is removed",
        run: |trial| Box::pin(failing_schedule::prove(trial)),
    },
    Check {
        name: "large-bodies",
        guarantee: "hundreds of the worst bodies at once, at every operation that takes lists or maps: refused, memory grows by less than 100 MB, other callers are served",
        run: |trial| Box::pin(large_bodies::prove(trial)),
    },
    Check {
        name: "input-limits",
        guarantee: "NUL in every text and numbers beyond every limit, over REST and MCP: refused with a stable code, nothing stored; the largest purchase is exact",
        run: |trial| Box::pin(input_limits::prove(trial)),
    },
    Check {
        name: "silent-connections",
        guarantee: "thousands of connections that send no request: other callers are served, and the silent ones are closed",
        run: |trial| Box::pin(silent_connections::prove(trial)),
    },
    Check {
        name: "busy-store",
        guarantee: "one store at fifty times its share: the p99 latency of other stores stays within 1.5 times",
        run: |trial| Box::pin(busy_store::prove(trial)),
    },
    Check {
        name: "interrupted-migration",
        guarantee: "an index whose creation was cut off or has to wait: `souk migrate` completes it",
        run: |trial| Box::pin(interrupted_migration::prove(trial)),
    },
    Check {
        name: "engine-faults",
        guarantee: "PostgreSQL full, out of memory, read-only after a failover: 503 with Retry-After, and writes again with the new primary",
        run: |trial| Box::pin(engine_faults::prove(trial)),
    },
    Check {
        name: "paths-in-logs",
        guarantee: "ids of carts, checkouts and confirmations in paths are in no log line",
        run: |trial| Box::pin(paths_in_logs::prove(trial)),
    },
    Check {
        name: "private-metrics",
        guarantee: "metrics are served on the private listener of each process and nowhere else",
        run: |trial| Box::pin(private_metrics::prove(trial)),
    },
    Check {
        name: "address-sites",
        guarantee: "the IPv6 networks of one site share a quota",
        run: |trial| Box::pin(address_sites::prove(trial)),
    },
    Check {
        name: "old-rows",
        guarantee: "rows whose retention is over are deleted in small transactions, and no younger ones",
        run: |trial| Box::pin(old_rows::prove(trial)),
    },
    Check {
        name: "job-commands",
        guarantee: "an operator lists, shows, revives and discards dead letters; each change is in the audit log",
        run: |trial| Box::pin(job_commands::prove(trial)),
    },
    Check {
        name: "deployment-doctor",
        guarantee: "`souk doctor` finds what is wrong with a deployment and says what to do",
        run: |trial| Box::pin(deployment_doctor::prove(trial)),
    },
];
