#![doc = include_str!("../README.md")]

mod agents;
mod cents;
mod data;
mod draft;
mod expand;
mod gtin;
mod hash;
mod options;
mod past;
mod past_history;
mod past_order;
mod quality;
mod reviews;
mod seed;
mod settings;
mod stock;
#[cfg(test)]
mod tests;
mod world;

pub use draft::draft;
pub use seed::{SeedError, Seeded, fingerprint, retire_others, seed, seed_by};
pub use world::{
    Category, DEMO_STORE, FIRST_PRODUCT, Identity, Image, Product, Purchases, Rating, Store,
    Variant, World, world,
};
