//! Checks and benchmarks of search: relevance, performance and crash recovery, on catalogs of any size.

mod balancer;
mod bare_tantivy;
mod bench;
mod damage;
mod deployment;
mod kills;
mod measure;
mod postgres;
mod ranking;
mod relevance;
mod souk_search;
mod store;
mod synthetic_catalog;
mod trust;
mod two_writers;

use crate::report::Check;

pub(crate) use bench::{bench, calls, soak};
pub(crate) use deployment::{Deployment, all_products, post_search};
pub(crate) use measure::cpu_nanos;

/// The checks of this topic, in the order in which they run.
pub(crate) const CHECKS: &[Check] = &[
    Check {
        name: "relevance",
        guarantee: "a graded set of queries: relevance of the results, and the contribution of \
                    each ranking factor",
        run: |trial| Box::pin(ranking::prove(trial)),
    },
    Check {
        name: "process-kills",
        guarantee: "the writer and two readers killed at random, PostgreSQL crashing in between: \
                    no search fails, and the index ends equal to PostgreSQL",
        run: |trial| Box::pin(kills::prove(trial)),
    },
    Check {
        name: "index-corruption",
        guarantee: "objects and files flipped, truncated and deleted: detected, repaired, never \
                    served; duration of a rebuild",
        run: |trial| Box::pin(damage::prove(trial)),
    },
    Check {
        name: "paused-writer",
        guarantee: "a writer paused past its lease while another takes over publishes nothing \
                    when it resumes",
        run: |trial| Box::pin(two_writers::prove(trial)),
    },
    Check {
        name: "trust-changes",
        guarantee: "a suspension or a new score reaches every reader within five seconds without \
                    rewriting a document",
        run: |trial| Box::pin(trust::prove(trial)),
    },
];
