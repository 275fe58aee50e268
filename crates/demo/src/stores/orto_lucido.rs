//! A garden shop in Italy that is closed for now.

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::USUAL;
use crate::line::{LINE, Line, axis, item};
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "orto-lucido",
    currency: "EUR",
    member_since_days_ago: 980,
    habits: USUAL,
    deepest_stock: 150,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(14),
    free_shipping_threshold_minor: Some(4000),
    shipping_days: Some((3, 6)),
    return_summary: Some("Fourteen days for tools and pots; seeds and bulbs are excluded."),
    shipping_summary: Some("From Lucca by courier; free from 40 euro in Italy."),
    privacy_url: Some("https://orto-lucido.example/privacy"),
    terms_url: Some("https://orto-lucido.example/terms"),
    warranty_months: Some(24),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Orto Lucido",
        legal_name: "Orto Lucido di Bassani & C. S.n.c.",
        description: "Seeds, bulbs, forged tools and Tuscan pots for kitchen gardens. The shop \
                      is closed while we move to a new nursery.",
        website_url: "https://orto-lucido.example",
        platform: "woocommerce",
        active: false,
        country: "IT",
        currency: SHOP.currency,
        languages: vec!["it", "en"],
        ships_to: vec!["IT", "FR", "DE", "AT", "SI"],
        support_email: "ciao@orto-lucido.example",
        trust_score: Some(0.81),
        provisional: false,
        identity: verified("business", "company register", 510),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 20_160,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("garden", "Garden"),
    ("garden/seeds", "Seeds"),
    ("garden/seeds/vegetables", "Vegetable Seeds"),
    ("garden/seeds/herbs", "Herb Seeds"),
    ("garden/seeds/flowers", "Flower Seeds"),
    ("garden/bulbs", "Bulbs"),
    ("garden/tools", "Tools"),
    ("garden/watering", "Watering"),
    ("garden/pots", "Pots"),
    ("garden/soil", "Soil & Feed"),
    ("garden/accessories", "Accessories"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "SD",
        category: "garden/seeds/vegetables",
        brand: "Orto Lucido",
        about: "Open-pollinated seed, tested for germination this year.",
        attributes: &[("type", "organic seed")],
        items: &[
            item(101, "Tomato Seeds, Cuore di Bue", 350)
                .about("Ribbed ox-heart tomatoes for slicing.")
                .with(&[("quantity", "40 seeds"), ("sowing", "February to April")]),
            item(102, "Tomato Seeds, Datterino", 350)
                .about("Sweet, date-shaped, ripe by the handful.")
                .with(&[("quantity", "50 seeds"), ("sowing", "February to April")]),
            item(103, "Courgette Seeds, Striato", 300)
                .about("Pale ribs, nutty flesh, flowers to fry.")
                .with(&[("quantity", "20 seeds"), ("sowing", "April to June")]),
            item(104, "Rocket Seeds, Wild", 300)
                .about("Slower and sharper than the shop kind.")
                .with(&[("quantity", "800 seeds"), ("sowing", "March to September")]),
            item(105, "Chicory Seeds, Treviso", 300)
                .about("Red hearts after the first frost.")
                .with(&[("quantity", "400 seeds"), ("sowing", "June to August")]),
            item(106, "Borlotti Bean Seeds", 350)
                .about("Speckled pods on two-metre vines.")
                .with(&[("quantity", "60 seeds"), ("sowing", "April to June")]),
            item(107, "Aubergine Seeds, Violetta", 350)
                .about("Round, mild, few seeds.")
                .with(&[("quantity", "40 seeds"), ("sowing", "February to March")]),
            item(108, "Cavolo Nero Seeds", 300)
                .about("Black kale for winter soups.")
                .with(&[("quantity", "200 seeds"), ("sowing", "May to July")]),
            item(109, "Pepper Seeds, Corno Rosso", 350)
                .about("Sweet red horns for the grill.")
                .with(&[("quantity", "35 seeds"), ("sowing", "February to March")]),
        ],
        ..LINE
    },
    Line {
        prefix: "HB",
        category: "garden/seeds/herbs",
        brand: "Orto Lucido",
        about: "For a windowsill or a whole bed.",
        attributes: &[("type", "organic seed")],
        items: &[
            item(151, "Basil Seeds, Genovese", 295)
                .about("The one for pesto.")
                .with(&[("quantity", "500 seeds"), ("sowing", "April to July")]),
            item(152, "Basil Seeds, Purple", 295)
                .about("Dark leaves, a hint of clove.")
                .with(&[("quantity", "400 seeds"), ("sowing", "April to July")]),
            item(153, "Flat Parsley Seeds", 295)
                .about("Soak overnight; be patient.")
                .with(&[("quantity", "600 seeds"), ("sowing", "March to August")]),
            item(154, "Sage Seeds", 295)
                .about("For butter and gnocchi.")
                .with(&[("quantity", "80 seeds"), ("sowing", "March to May")]),
            item(155, "Oregano Seeds", 295)
                .about("Dries on the stem.")
                .with(&[("quantity", "900 seeds"), ("sowing", "March to May")]),
            item(156, "Herb Garden Collection", 1450)
                .about("Basil, parsley, sage, oregano and thyme in a box.")
                .with(&[("quantity", "5 packets")]),
        ],
        ..LINE
    },
    Line {
        prefix: "FL",
        category: "garden/seeds/flowers",
        brand: "Orto Lucido",
        about: "Chosen with a beekeeper.",
        attributes: &[("type", "untreated seed")],
        items: &[
            item(201, "Cosmos Seeds, White", 350)
                .about("Armfuls from July to frost.")
                .with(&[("quantity", "80 seeds"), ("sowing", "April to June")]),
            item(202, "Sweet Pea Seeds, Old Scented", 350)
                .about("Short stems, long perfume.")
                .with(&[("quantity", "25 seeds"), ("sowing", "October to March")]),
            item(203, "Sunflower Seeds, Branching", 350)
                .about("A dozen small heads on each plant.")
                .with(&[("quantity", "30 seeds"), ("sowing", "April to June")]),
            item(204, "Meadow Mix, 10 m2", 650)
                .about("Thirty native species for poor soil.")
                .with(&[("weight", "30 g"), ("sowing", "September to April")]),
            item(205, "Nasturtium Seeds, Trailing", 350)
                .about("Eat the flowers, share the leaves with the caterpillars.")
                .with(&[("quantity", "30 seeds"), ("sowing", "April to June")]),
        ],
        ..LINE
    },
    Line {
        prefix: "BU",
        category: "garden/bulbs",
        brand: "Orto Lucido",
        about: "Lifted, graded and packed in wood wool.",
        attributes: &[("planting", "September to November")],
        items: &[
            item(251, "Tulip Bulbs, Ochre Parrot", 850)
                .about("Feathered and a little mad.")
                .with(&[("quantity", "10 bulbs")]),
            item(252, "Narcissus Bulbs, White Cluster", 750)
                .about("Scented, early, ignored by deer.")
                .with(&[("quantity", "10 bulbs")]),
            item(253, "Allium Bulbs, Purple Globe", 900)
                .about("A metre tall and good in seed.")
                .with(&[("quantity", "6 bulbs")]),
            item(254, "Garlic for Planting, Red", 1250)
                .about("Three heads, about thirty cloves.")
                .with(&[("quantity", "3 heads")]),
            item(255, "Crocus Bulbs, Saffron", 650)
                .about("Three threads a flower; start a collection.")
                .with(&[("quantity", "12 bulbs")]),
        ],
        ..LINE
    },
    Line {
        prefix: "TL",
        category: "garden/tools",
        brand: "Ferrovale",
        about: "Forged in Brescia with handles of ash.",
        attributes: &[("material", "carbon steel and ash")],
        items: &[
            item(301, "Italian Digging Hoe", 3400)
                .about("The tool the rest of the world calls an azada.")
                .with(&[("length", "110 cm"), ("weight", "1.4 kg")]),
            item(302, "Planting Trowel", 2200)
                .about("Narrow, marked, unbreakable in clay.")
                .with(&[("weight", "240 g")]),
            item(303, "Weeding Sickle", 2800)
                .about("A small hook for big roots.")
                .with(&[("weight", "190 g")]),
            item(304, "Vine Secateurs", 4800)
                .about("A long grip and a thin nose for tight spurs.")
                .with(&[("weight", "220 g")]),
            item(305, "Pruning Saw, 30 cm", 6200)
                .about("Pull stroke, replaceable blade.")
                .with(&[("length", "30 cm"), ("weight", "310 g")]),
            item(306, "Digging Fork", 7600)
                .about("Four square tines and a handle that forgives.")
                .with(&[("length", "105 cm"), ("weight", "1.9 kg")]),
            item(307, "Dibber", 1850)
                .about("Steel tip, inch marks, a T to lean on.")
                .with(&[("weight", "280 g")]),
            item(308, "Long Loppers", 3900)
                .about("Gear action for branches to four centimetres.")
                .with(&[("length", "70 cm")])
                .discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "WT",
        category: "garden/watering",
        brand: "Ferrovale",
        about: "Made for hot summers and hard water.",
        items: &[
            item(351, "Copper Watering Can, 2 L", 4200)
                .about("For pots indoors, with a removable rose.")
                .with(&[("material", "copper"), ("capacity", "2 L")]),
            item(352, "Zinc Watering Can, 9 L", 3600)
                .about("Two handles, one balance.")
                .with(&[("material", "galvanised steel"), ("capacity", "9 L")]),
            item(353, "Cotton-Sleeved Hose, 15 m", 5400)
                .about("Does not kink, does not perish.")
                .with(&[("length", "15 m")])
                .colours(&["Green", "Sand"]),
            item(354, "Olla Irrigation Pot, Pair", 2400)
                .about("Bury, fill, forget for a week.")
                .with(&[("material", "terracotta"), ("capacity", "1.5 L"), ("quantity", "2")]),
            item(355, "Drip Kit for 20 Pots", 6900)
                .about("Timer, tubing and adjustable drippers.")
                .with(&[("quantity", "20")]),
        ],
        ..LINE
    },
    Line {
        prefix: "PT",
        category: "garden/pots",
        brand: "Orto Lucido",
        about: "Impruneta clay, fired at a thousand degrees.",
        attributes: &[("material", "terracotta")],
        items: &[
            item(401, "Terracotta Pot, 18 cm", 1800)
                .about("The plain one, rim and all.")
                .with(&[("size", "18 cm")]),
            item(402, "Terracotta Pot, 28 cm", 3400)
                .about("For lemons, olives and ambition.")
                .with(&[("size", "28 cm")]),
            item(403, "Lemon Pot with Garland, 45 cm", 8900)
                .about("Pressed by hand in an old mould.")
                .with(&[("size", "45 cm"), ("weight", "19 kg")]),
            item(404, "Window Box, 50 cm", 2600)
                .about("Feet included, drains at both ends.")
                .with(&[("length", "50 cm")]),
            item(405, "Saucer, 24 cm", 950)
                .about("Glazed inside to spare the floor.")
                .with(&[("size", "24 cm")]),
        ],
        ..LINE
    },
    Line {
        prefix: "SO",
        category: "garden/soil",
        brand: "Orto Lucido",
        about: "Peat-free.",
        attributes: &[("origin", "Italy")],
        items: &[
            item(451, "Potting Soil, 20 L", 1250)
                .about("Coir, compost and volcanic grit.")
                .with(&[("volume", "20 L")]),
            item(452, "Seed Compost, 10 L", 950)
                .about("Fine and low in nutrients, as seedlings like it.")
                .with(&[("volume", "10 L")]),
            item(453, "Pelleted Sheep Manure, 5 kg", 1400)
                .about("Slow food for hungry beds.")
                .with(&[("weight", "5 kg")]),
            item(454, "Lupin Meal for Citrus, 2 kg", 1650)
                .about("What the old gardeners scatter in March.")
                .with(&[("weight", "2 kg")]),
        ],
        ..LINE
    },
    Line {
        prefix: "AC",
        category: "garden/accessories",
        brand: "Orto Lucido",
        about: "Tried in our own beds first.",
        items: &[
            item(501, "Canvas Garden Apron", 2900)
                .about("Pockets that empty themselves when you lean the other way.")
                .with(&[("material", "canvas")])
                .colours(&["Olive", "Sand"]),
            item(502, "Goatskin Gloves", 1950)
                .about("Long cuffs for roses.")
                .with(&[("material", "goatskin")])
                .choose(&[axis("size", &["S", "M", "L"])]),
            item(503, "Copper Plant Labels, Set of 20", 1200)
                .about("Write with a ballpoint; it stays for ever.")
                .with(&[("material", "copper"), ("quantity", "20")]),
            item(504, "Jute Twine, 120 m", 850)
                .about("On a spool with a cutter.")
                .with(&[("material", "jute"), ("length", "120 m")]),
            item(505, "Willow Harvest Basket", 4400)
                .about("Woven in Piedmont, shallow enough for tomatoes.")
                .with(&[("material", "willow"), ("size", "45 cm")]),
        ],
        ..LINE
    },
];
