#![doc = include_str!("../README.md")]

mod checksum;
mod columns;
mod compare;
mod cursor;
mod document;
mod engine;
mod error;
mod facets;
mod fillers;
mod find;
mod generation;
mod insight;
mod language;
mod languages;
mod lease;
mod manifest;
mod memory;
mod objects;
mod plan;
mod query;
mod rank;
mod record;
mod replica;
mod roster;
mod schema;
mod sellers;
mod similar;
mod slot;
mod suggest;
mod table;
mod threads;
mod view;
mod walk;
mod words;
mod writer;

pub use compare::{Comparison, compare};
pub use engine::{Search, SearchSettings, SearchState};
pub use error::{IndexError, SearchError};
pub use facets::{FacetValue, Facets};
pub use find::{Found, Matched, Source};
pub use generation::{is_published, rebuild};
pub use insight::{
    CallerKind, Insight, InsightError, SearchTally, SweepTallies, searches_without_result,
    top_searches,
};
pub use objects::Objects;
pub use query::{Filters, Query, Sort};
pub use rank::{Ranking, Tuning};
pub use record::{ArgumentFault, SearchAnswer, SearchArguments, SearchMeta, slugs};
pub use replica::{Figures, Replica, ReplicaSettings, ShardFigures};
pub use sellers::Seller;
pub use writer::{WriterSettings, write};
