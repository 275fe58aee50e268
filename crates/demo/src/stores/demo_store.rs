//! The public demo store: a bit of everything, always readable.

mod electronics;
mod home;
mod kitchen;
mod mercadillo;
mod outdoor;
mod stationery;

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::CAREFUL;
use crate::line::Line;
use crate::world::{DEMO_STORE, Policies, Store};

const SHOP: Shop = Shop {
    slug: DEMO_STORE,
    currency: "USD",
    member_since_days_ago: 900,
    habits: CAREFUL,
    deepest_stock: 160,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(30),
    free_shipping_threshold_minor: Some(5000),
    shipping_days: Some((3, 5)),
    return_summary: Some("Unused goods may come back within 30 days; we pay the label."),
    shipping_summary: Some("Leaves us within one working day; free from $50 in the US."),
    privacy_url: Some("https://demo-store.example/privacy"),
    terms_url: Some("https://demo-store.example/terms"),
    warranty_months: Some(24),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Souk Demo Store",
        legal_name: "Souk Demonstration Goods Inc.",
        description: "Well-made things for the kitchen, the desk and the trail. This store is \
                      open to everyone for trying out: browse it, compare it, ask it questions.",
        website_url: "https://demo-store.example",
        platform: "api",
        active: true,
        country: "US",
        currency: SHOP.currency,
        languages: vec!["en", "es"],
        ships_to: vec!["US", "CA", "GB", "DE", "FR"],
        support_email: "hello@demo-store.example",
        trust_score: Some(0.91),
        provisional: false,
        identity: verified("extended", "company register", 212),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 7,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, LINES),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("home-kitchen", "Home & Kitchen"),
    ("home-kitchen/coffee", "Coffee"),
    ("home-kitchen/tea", "Tea"),
    ("home-kitchen/cookware", "Cookware & Baking"),
    ("home-kitchen/knives", "Knives & Boards"),
    ("home-kitchen/tableware", "Tableware"),
    ("home-kitchen/storage", "Food Storage"),
    ("home-kitchen/linens", "Linens & Throws"),
    ("home-kitchen/lighting", "Lighting"),
    ("home-kitchen/decor", "Candles & Decor"),
    ("home-kitchen/cleaning", "Cleaning"),
    ("bath", "Bath"),
    ("bath/towels", "Towels & Robes"),
    ("bath/care", "Soap & Care"),
    ("garden", "Garden"),
    ("garden/tools", "Garden Tools"),
    ("garden/pots", "Pots & Watering"),
    ("pets", "Pets"),
    ("electronics", "Electronics"),
    ("electronics/audio", "Audio"),
    ("electronics/charging", "Charging & Power"),
    ("electronics/computing", "Desk & Computing"),
    ("electronics/smart-home", "Smart Home"),
    ("electronics/readers", "E-Readers"),
    ("outdoor", "Outdoor"),
    ("outdoor/packs", "Packs & Bags"),
    ("outdoor/camping", "Camping"),
    ("outdoor/hydration", "Bottles & Filters"),
    ("outdoor/clothing", "Outdoor Clothing"),
    ("outdoor/cycling", "Cycling"),
    ("stationery", "Stationery"),
    ("stationery/notebooks", "Notebooks"),
    ("stationery/pens", "Pens & Ink"),
    ("stationery/planners", "Planners & Calendars"),
    ("stationery/desk", "Desk Accessories"),
    ("stationery/cards", "Cards & Wrapping"),
    ("toys-games", "Toys & Games"),
    ("mercadillo", "El mercadillo"),
    ("mercadillo/cocina", "Cocina"),
    ("mercadillo/casa", "Casa"),
    ("mercadillo/juguetes", "Juguetes"),
];

const LINES: &[&[Line]] = &[
    kitchen::LINES,
    home::LINES,
    electronics::LINES,
    outdoor::LINES,
    stationery::LINES,
    mercadillo::LINES,
];
