#![doc = include_str!("../README.md")]

mod cents;
mod data;
mod draft;
mod expand;
mod gtin;
mod hash;
mod options;
mod quality;
mod reviews;
mod score_history;
mod seed;
mod settings;
mod stock;
#[cfg(test)]
mod tests;
mod world;

pub use draft::draft;
pub use seed::{SeedError, Seeded, retire_others, seed};
pub use world::{
    Category, DEMO_STORE, FIRST_PRODUCT, Identity, Image, Product, Rating, Store, Variant, World,
    world,
};
