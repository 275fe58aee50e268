#![doc = include_str!("../README.md")]

mod drafts;
mod expand;
mod gtin;
mod habits;
mod line;
mod offers;
mod options;
mod past;
mod reviews;
mod seed;
mod shared;
mod spread;
mod stock;
mod stores;
#[cfg(test)]
mod tests;
mod world;

pub use drafts::draft;
pub use seed::{SeedError, Seeded, seed};
pub use world::{
    Category, DEMO_STORE, FIRST_PRODUCT, Identity, Image, Policies, Product, Rating, Store,
    Variant, World, world,
};
