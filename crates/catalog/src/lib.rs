#![doc = include_str!("../README.md")]

mod address;
mod apply;
mod availability;
mod bulk;
mod card;
mod category;
mod check;
mod comparison;
mod draft;
mod error;
mod fault;
mod feed;
mod gtin;
mod history;
mod hold;
mod incoming;
mod offer;
mod product;
mod put;
mod quality;
mod read;
mod record;
mod revise;
mod run;
mod scan;
mod stock;
mod stream;
mod survey;
mod table;
mod text;
mod upload;

pub use address::{AddressError, web_address};
pub use apply::{ApplyRun, SweepRuns, TakeStock, take_stock_soon};
pub use availability::{Availability, VariantAvailability};
pub use bulk::{products_after, products_of};
pub use card::{CardMerchant, CardPolicies, CardRating, ProductCard};
pub use category::{Category, CategoryNode, CategoryPath, tree};
pub use check::check;
pub use comparison::{Comparison, NotComparable, comparable};
pub use draft::{
    Amount, ImageDraft, PolicyDraft, ProductDraft, RatingDraft, ReviewDraft, VariantDraft,
};
pub use error::CatalogError;
pub use fault::{Fault, FaultCode};
pub use feed::{FeedFormat, FeedItem, FeedSettings, ReadFeed};
pub use gtin::{Gtin, GtinError};
pub use history::{LatePrices, PriceHistory, PriceRecord, ReviewRecord, Reviews};
pub use hold::{
    Shelf, Units, forget_sandbox, give_back, hold, products_for_sale, products_on, sell,
};
pub use incoming::{Incoming, Origin};
pub use merchants::GtinSource;
pub use offer::{Choice, Offer, OptionValue, ProductOption, options};
pub use product::{
    Condition, Image, NewProduct, NewVariant, Product, ProductPolicies, Rating, Review, Variant,
};
pub use put::{Done, Put, put_category, put_products, retire, sum_up};
pub use quality::{Defect, Failing, Figures, failing, freshness, measure, quality};
pub use read::{
    Deals, PastPrice, categories, deals, find, late_prices, new_arrivals, owner, price_history,
    product, reviews, sellers,
};
pub use record::{
    CategoryRecord, ImageRecord, MerchantRecord, ProductRecord, RatingRecord, VariantRecord,
};
pub use revise::{Change, Revised, Revision, revise};
pub use run::{
    CatalogState, NewRun, RowFault, Run, RunMode, RunState, Tally, accept, begin_run,
    catalog_state, give_up, receive, row_faults, run, runs, unfinished_run,
};
pub use scan::{PriceRange, Scan, ScanSort, scan};
pub use stock::StockStatus;
pub use table::Lookup;
pub use text::{one_line, paragraphs};
pub use upload::{Upload, content_hash};
