//! A candle studio in Finland that has no history to score yet.

use super::not_verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::UNTRIED;
use crate::line::{LINE, Line, axis, item};
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "tuulikki-candles",
    currency: "EUR",
    member_since_days_ago: 5,
    habits: UNTRIED,
    deepest_stock: 30,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(14),
    free_shipping_threshold_minor: None,
    shipping_days: Some((3, 7)),
    return_summary: Some("Fourteen days, unburned."),
    shipping_summary: Some("By post on Fridays."),
    privacy_url: None,
    terms_url: None,
    warranty_months: None,
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Tuulikki Candles",
        legal_name: "Tuulikki Saarela, sole trader",
        description: "Candles poured one evening a week in a kitchen in Turku.",
        website_url: "https://tuulikki-candles.example",
        platform: "api",
        active: true,
        country: "FI",
        currency: SHOP.currency,
        languages: vec!["fi", "en"],
        ships_to: vec!["FI", "SE", "EE"],
        support_email: "tuulikki@tuulikki-candles.example",
        trust_score: None,
        provisional: true,
        identity: not_verified("unverified"),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 300,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] =
    &[("home-decor", "Home Decor"), ("home-decor/candles", "Candles")];

const LINES: &[Line] = &[
    Line {
        prefix: "KY",
        category: "home-decor/candles",
        brand: "Tuulikki",
        about: "Poured one evening a week in a kitchen in Turku.",
        attributes: &[("material", "rapeseed wax")],
        items: &[
            item(101, "Sauna Evening Candle", 2400)
                .about("Birch leaf, tar and clean steam.")
                .with(&[("weight", "200 g")])
                .choose(&[axis("size", &["200 g", "400 g"]).costing(&[0, 1400])]),
            item(102, "First Snow Candle", 2400)
                .about("Cold air, spruce and a little mint.")
                .with(&[("weight", "200 g")])
                .choose(&[axis("size", &["200 g", "400 g"]).costing(&[0, 1400])]),
            item(103, "Cardamom Bun Candle", 2400)
                .about("Warm milk, cardamom, browned butter.")
                .with(&[("weight", "200 g")]),
            item(104, "Midsummer Field Candle", 2200)
                .about("Clover and hay; sold until the solstice.")
                .with(&[("weight", "180 g")]),
            item(105, "Tea Lights, Box of 12", 1250)
                .about("Unscented, in cups that can be refilled.")
                .with(&[("quantity", "12")]),
            item(107, "Beeswax Tapers, Set of 4", 1800)
                .about("From a cousin's hives near Naantali.")
                .with(&[("material", "beeswax"), ("quantity", "4")]),
        ],
        ..LINE
    },
    Line {
        prefix: "TA",
        category: "home-decor/candles",
        brand: "Tuulikki",
        items: &[
            item(106, "Wick Trimmer Set", 900)
                .about("Trimmer and snuffer in blackened steel.")
                .with(&[("material", "steel")]),
            item(108, "Soapstone Candle Holder", 3200)
                .about("Turned from a Karelian offcut, each with its own vein.")
                .with(&[("material", "soapstone"), ("size", "11 cm")]),
        ],
        ..LINE
    },
];
