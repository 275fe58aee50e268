#![doc = include_str!("../README.md")]

mod address;
mod category;
mod draft;
mod error;
mod fault;
mod feed;
mod gtin;
mod product;
mod put;
mod read;
mod record;
mod stock;
mod table;
mod text;

pub use address::{AddressError, web_address};
pub use category::{Category, CategoryNode, tree};
pub use draft::{
    Amount, ImageDraft, PolicyDraft, ProductDraft, RatingDraft, ReviewDraft, VariantDraft,
};
pub use error::CatalogError;
pub use fault::{Fault, FaultCode};
pub use feed::{FeedFormat, FeedItem, FeedSettings, GtinSource, ReadFeed};
pub use gtin::{Gtin, GtinError};
pub use product::{Condition, Image, NewProduct, NewVariant, Product, Rating, Variant};
pub use put::{put_category, put_product, sum_up};
pub use read::{categories, product};
pub use record::{
    CategoryRecord, ImageRecord, MerchantRecord, ProductRecord, RatingRecord, VariantRecord,
};
pub use stock::StockStatus;
pub use text::{one_line, paragraphs};
