#![doc = include_str!("../README.md")]

mod apply_feed_run;
mod availability;
mod batch;
mod bulk;
mod card;
mod category;
mod category_check;
mod check;
mod comparison;
mod draft;
mod end_orphaned_runs;
mod error;
mod export;
mod fallback_search;
mod feed;
mod feed_run;
mod feed_scan;
mod feed_stream;
mod field_error;
mod gtin;
mod history;
mod hold;
mod incoming;
mod offer;
mod own_products;
mod product;
mod purge_feed_files;
mod purge_feed_runs;
mod put;
mod quality;
mod quota;
mod read;
mod record;
mod refresh_outdated;
mod refresh_stats;
mod restock;
mod retire;
mod retire_each;
mod sale;
mod stock;
mod stock_pool;
mod table;
mod text;
mod update_offers;
mod update_sale_prices;
mod upload;
mod upload_gate;
mod web_url;

pub use apply_feed_run::ApplyFeedRun;
pub use availability::{Availability, VariantAvailability};
pub use bulk::{
    ProductKey, ProductsRead, product_keys_after, products_after, products_of, read_products,
};
pub use card::{CardMerchant, CardPolicies, CardRating, ProductCard};
pub use category::{Category, CategoryNode, CategoryPath, tree};
pub use category_check::check_categories;
pub use check::check;
pub use comparison::{Comparison, NotComparable, comparable};
pub use draft::{
    Amount, ImageDraft, PolicyDraft, ProductDraft, RatingDraft, ReviewDraft, VariantDraft,
};
pub use end_orphaned_runs::EndOrphanedRuns;
pub use error::CatalogError;
pub use export::{ExportPage, WriteFeed, export_page};
pub use fallback_search::{FallbackQuery, FallbackSort, PriceRange, fallback_search};
pub use feed::{FeedColumns, FeedColumnsError, FeedFormat, FeedItem, FeedSettings, ReadFeed};
pub use feed_run::{
    CatalogState, FeedRun, FeedRunMode, FeedRunState, NewFeedRun, RowCounts, RowError,
    RowErrorKind, abort_upload, begin_feed_run, catalog_state, feed_run, feed_runs, finish_upload,
    receive_chunk, row_errors, set_searchable, unfinished_feed_run, unsearchable_runs,
};
pub use field_error::{FieldError, FieldErrorCode};
pub use gtin::{Gtin, GtinError};
pub use history::{PriceHistory, PriceRecord, RecentPrices, ReviewRecord, Reviews};
pub use hold::{Units, hold, purge_sandbox, release, sell, stock_and_held};
pub use incoming::{Incoming, Origin};
pub use merchants::GtinSource;
pub use offer::{Choice, Offer, OptionValue, ProductOption, options};
pub use own_products::{
    HiddenReason, InvalidCursor, OwnProduct, OwnProductStatus, OwnProductSummary,
    OwnProductsFilter, OwnProductsPage, ProductCursor, StoredProduct, own_product, own_products,
};
pub use product::{
    Condition, Image, Product, ProductFacts, ProductPolicies, Rating, Review, Variant, VariantFacts,
};
pub use purge_feed_files::PurgeFeedFiles;
pub use purge_feed_runs::PurgeFeedRuns;
pub use put::{PutOutcome, PutResult, put_category, put_products, refresh_counts};
pub use quality::{
    CatalogQuality, Defect, DefectiveProduct, QualityFigure, first_with_defect, freshness,
    products_with_defects, quality, quality_in, refresh_quality,
};
pub use quota::{
    Quota, QuotaExceeded, QuotaRecord, count_upload, quotas, set_quota, set_quota_by_operator,
};
pub use read::{
    Deals, PastPrice, categories, deals, find, merchant_of, new_arrivals, price_history, product,
    recent_prices, reviews, sellers,
};
pub use record::{
    CategoryRecord, ImageRecord, MerchantRecord, ProductRecord, RatingRecord, VariantRecord,
};
pub use refresh_outdated::RefreshOutdatedFigures;
pub use refresh_stats::{RefreshCatalogStats, schedule_catalog_stats, schedule_freshness};
pub use restock::restock;
pub use retire::{retire, retire_others};
pub use retire_each::{RetireOutcome, retire_each};
pub use sale::Sale;
pub use stock::StockStatus;
pub use stock_pool::{StockPool, products_for_sale, products_in_pool};
pub use table::Lookup;
pub use text::{one_line, paragraphs};
pub use update_offers::{OfferChange, OfferUpdate, OfferUpdateOutcome, update_offers};
pub use update_sale_prices::UpdateSalePrices;
pub use upload::{Upload, content_hash};
pub use upload_gate::{FreeSpace, UploadGate};
pub use web_url::{OWN_IMAGES, WebUrlError, web_url};
