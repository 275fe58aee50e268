#![doc = include_str!("../README.md")]

mod analytics;
mod checksum;
mod collector;
mod columns;
mod compare;
mod cursor;
mod diversity;
mod document;
mod engine;
mod error;
mod facets;
mod find;
mod generation;
mod in_memory;
mod indexed_languages;
mod language;
mod lease;
mod locked_directory;
mod manifest;
mod matching_stores;
mod object_storage;
mod query;
mod query_builder;
mod query_parser;
mod rank;
mod record;
mod replica;
mod schema;
mod searchable_runs;
mod similar;
mod snapshot;
mod stop_words;
mod store_directory;
mod suggest;
mod table;
mod thread_pool;
mod writer;

pub use analytics::{
    Analytics, AnalyticsError, CallerKind, PurgeTallies, SearchTally, searches_without_result,
    top_searches,
};
pub use compare::{Comparison, compare};
pub use engine::{Search, SearchSettings, SearchState};
pub use error::{IndexError, SearchError};
pub use facets::{FacetValue, Facets};
pub use find::{Matched, SearchResults, Source};
pub use generation::{is_published, published_lag, rebuild, start_over};
pub use matching_stores::StoreMatch;
pub use object_storage::ObjectStorage;
pub use query::{Filters, Query, Sort};
pub use rank::{Ranking, Tuning};
pub use record::{InvalidArgument, SearchArguments, SearchMeta, SearchResponse, slugs};
pub use replica::{Replica, ReplicaSettings, ReplicaStatus, ShardStatus};
pub use searchable_runs::RecordSearchableRuns;
pub use writer::{WriterSettings, write};
