//! An outdoor outfitter in Norway that charges in euro, and in kronor for one Swedish maker.

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::USUAL;
use crate::line::{LINE, Line, SIZES, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "skarvdal",
    currency: "EUR",
    member_since_days_ago: 1120,
    habits: USUAL,
    deepest_stock: 60,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(60),
    free_shipping_threshold_minor: Some(12_000),
    shipping_days: Some((3, 7)),
    return_summary: Some("Sixty days, also after one honest trial in the rain."),
    shipping_summary: Some("From our store in Sogn; duties are paid by us. Free from 120 euro."),
    privacy_url: Some("https://skarvdal.example/privacy"),
    terms_url: Some("https://skarvdal.example/terms"),
    warranty_months: Some(60),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Skarvdal Outdoor",
        legal_name: "Skarvdal Friluft AS",
        description: "Clothes, tents and tools for Norwegian weather, from a shop at the end of \
                      the fjord. Whatever we sell, we also repair.",
        website_url: "https://skarvdal.example",
        platform: "magento",
        active: true,
        country: "NO",
        currency: SHOP.currency,
        languages: vec!["no", "en", "de", "sv"],
        ships_to: vec!["NO", "SE", "DK", "FI", "DE", "NL", "FR", "AT"],
        support_email: "post@skarvdal.example",
        trust_score: Some(0.89),
        provisional: false,
        identity: verified("business", "company register", 301),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 25,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("outdoor", "Outdoor"),
    ("outdoor/clothing", "Clothing"),
    ("outdoor/clothing/shells", "Shells"),
    ("outdoor/clothing/insulation", "Insulation"),
    ("outdoor/clothing/base-layers", "Base Layers"),
    ("outdoor/clothing/accessories", "Gloves & Accessories"),
    ("outdoor/packs", "Packs"),
    ("outdoor/camping", "Camping"),
    ("outdoor/camping/tents", "Tents & Tarps"),
    ("outdoor/camping/sleeping", "Sleeping"),
    ("outdoor/camping/kitchen", "Camp Kitchen"),
    ("outdoor/camping/tools", "Axes & Knives"),
    ("outdoor/accessories", "Small Gear"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "SHL",
        category: "outdoor/clothing/shells",
        brand: "Skarvdal",
        about: "Seam-taped in our own workshop and re-proofed there for as long as you own it.",
        attributes: &[("material", "recycled polyamide")],
        axes: &[SIZES],
        items: &[
            item(101, "Storfjell Three-Layer Jacket", 32_900)
                .about("Cut long at the back, with a storm hood that fits over a helmet.")
                .with(&[("weight", "460 g"), ("water column", "20,000 mm")])
                .colours(&["Lichen", "Fjord", "Ember"]),
            item(102, "Storfjell Three-Layer Trousers", 24_900)
                .about("Reinforced at the knee and inside the ankle, with long side zips.")
                .with(&[("weight", "420 g"), ("water column", "20,000 mm")])
                .colours(&["Ink", "Lichen"]),
            item(103, "Regnskur Light Rain Jacket", 18_900)
                .about("Two hundred grams in its own pocket, for when the forecast is undecided.")
                .with(&[("weight", "205 g"), ("water column", "10,000 mm")])
                .colours(&["Fjord", "Ember"]),
            item(104, "Vindur Wind Shirt", 13_900)
                .about("Stops wind, lets sweat out, weighs as much as an apple.")
                .with(&[("weight", "112 g")])
                .colours(&["Ink", "Rust"]),
            item(105, "Myrdal Waxed Anorak", 21_900)
                .about("Cotton canvas for woods and smoke, with a belly pocket for gloves.")
                .with(&[("material", "waxed cotton"), ("weight", "890 g")])
                .colours(&["Moss", "Bark"]),
        ],
        ..LINE
    },
    Line {
        prefix: "INS",
        category: "outdoor/clothing/insulation",
        brand: "Skarvdal",
        about: "Spare buttons, patches and thread come in the pocket.",
        axes: &[SIZES],
        items: &[
            item(151, "Rypefjær Down Jacket", 25_900)
                .about("Eight hundred fill power in small chambers, so nothing slides to the hem.")
                .with(&[("fill", "goose down"), ("weight", "340 g")])
                .colours(&["Ink", "Ember", "Fjord"]),
            item(152, "Rypefjær Down Vest", 18_900)
                .about("Under a shell in winter, over a shirt in May.")
                .with(&[("fill", "goose down"), ("weight", "220 g")])
                .colours(&["Ink", "Moss"]),
            item(153, "Lagnad Synthetic Jacket", 16_900)
                .about("Warm when wet, washable, quick to dry.")
                .with(&[("fill", "recycled polyester"), ("weight", "390 g")])
                .colours(&["Rust", "Ink"]),
            item(154, "Bre Fleece Jacket", 11_900)
                .about("Dense on the shoulders, open under the arms.")
                .with(&[("material", "recycled polyester"), ("weight", "360 g")])
                .colours(&["Oat", "Fjord", "Moss"]),
            item(155, "Setesdal Wool Sweater", 14_900)
                .about("Two-thread knit from Norwegian lambs, with pewter clasps.")
                .with(&[("material", "wool"), ("weight", "740 g")])
                .colours(&["Black and White", "Grey and White"]),
        ],
        ..LINE
    },
    Line {
        prefix: "BAS",
        category: "outdoor/clothing/base-layers",
        brand: "Fellstrand",
        about: "Fine merino without itch.",
        attributes: &[("material", "merino wool")],
        items: &[
            item(201, "Merino Crew 200", 8400)
                .about("The layer that stays on for the whole trip.")
                .with(&[("weight", "210 g")])
                .choose(&[SIZES])
                .colours(&["Ink", "Bracken", "Fjord"]),
            item(202, "Merino Leggings 200", 7900)
                .about("Flat seams, wide waistband, no bunching in boots.")
                .with(&[("weight", "190 g")])
                .choose(&[SIZES])
                .colours(&["Ink", "Bracken"]),
            item(203, "Merino T-Shirt 150", 6400)
                .about("For summer, running and sleeping in huts.")
                .with(&[("weight", "140 g")])
                .choose(&[SIZES])
                .colours(&["Oat", "Ink", "Rust"]),
            item(204, "Merino Trek Socks", 2600)
                .about("Padding where the boot rubs.")
                .with(&[("weight", "72 g")])
                .choose(&[axis("size", &["36-39", "40-43", "44-47"])])
                .colours(&["Slate", "Moss"]),
            item(205, "Merino Liner Socks", 2200)
                .about("Thin enough for two pairs.")
                .with(&[("weight", "38 g")])
                .choose(&[axis("size", &["36-39", "40-43", "44-47"])]),
            sold(shared::MERINO_GAITER, 206, 2500),
            item(207, "Merino Beanie", 3600)
                .about("Fits under a hood.")
                .with(&[("weight", "58 g")])
                .colours(&["Ink", "Ember", "Oat"]),
        ],
        ..LINE
    },
    Line {
        prefix: "GLV",
        category: "outdoor/clothing/accessories",
        brand: "Skarvdal",
        about: "Repaired in our workshop, whatever the season.",
        attributes: &[("material", "goat leather")],
        items: &[
            item(251, "Hutte Leather Gloves", 8900)
                .about("Wool-lined goat leather that softens in a week.")
                .with(&[("weight", "180 g")])
                .choose(&[axis("size", &["7", "8", "9", "10"])]),
            item(252, "Overmittens", 6400)
                .about("A windproof shell with a leash.")
                .with(&[("material", "nylon"), ("weight", "95 g")])
                .choose(&[axis("size", &["S", "M", "L"])]),
            item(253, "Gaiters", 4400)
                .about("For snow, bog and blueberry scrub.")
                .with(&[("material", "nylon"), ("weight", "210 g")])
                .choose(&[axis("size", &["M", "L"])])
                .colours(&["Ink", "Moss"]),
            item(254, "Brimmed Rain Hat", 3900)
                .about("Keeps water off the neck and glasses.")
                .with(&[("material", "waxed cotton")])
                .choose(&[axis("size", &["M", "L"])])
                .colours(&["Moss", "Bark"]),
        ],
        ..LINE
    },
    Line {
        prefix: "RUG",
        category: "outdoor/packs",
        brand: "Skerrow",
        about: "Straps, buckles and foam are stocked as spare parts.",
        attributes: &[("material", "recycled nylon")],
        items: &[
            sold(shared::RIDGE_DAYPACK, 301, 10_400),
            item(302, "Ridge 55 Trekking Pack", 21_500)
                .about("Carries eighteen kilograms without complaint.")
                .with(&[("volume", "55 L"), ("weight", "1.6 kg")])
                .choose(&[axis("back", &["Short", "Regular", "Long"])])
                .colours(&["Juniper", "Storm"]),
            item(303, "Ridge 70 Expedition Pack", 26_900)
                .about("Two compartments and loops for skis, poles and a pulk.")
                .with(&[("volume", "70 L"), ("weight", "2 kg")])
                .choose(&[axis("back", &["Regular", "Long"])])
                .colours(&["Storm", "Rust"]),
            item(304, "Ski Touring Pack, 30 L", 12_900)
                .about("A separate sleeve for shovel and probe, skis on the side or diagonal.")
                .with(&[("volume", "30 L"), ("weight", "1.1 kg")])
                .colours(&["Ember", "Ink"]),
            item(305, "Child Pack, 12 L", 6900)
                .about("A chest strap with a whistle and room for a bear.")
                .with(&[("volume", "12 L"), ("weight", "390 g")])
                .colours(&["Fox", "Fjord"]),
            item(306, "Rain Cover", 2400)
                .about("Bright on one side, dull on the other.")
                .with(&[("weight", "90 g")])
                .choose(&[axis("size", &["20-35 L", "40-70 L"]).costing(&[0, 400])]),
        ],
        ..LINE
    },
    Line {
        prefix: "TNT",
        category: "outdoor/camping/tents",
        brand: "Cairnhollow",
        about: "Poles and pegs for wind, not for catalogues.",
        attributes: &[("material", "ripstop nylon")],
        items: &[
            item(351, "Holm 2 Tunnel Tent", 58_900)
                .about("Pitches as one piece in a gale.")
                .with(&[
                    ("capacity", "2 persons"),
                    ("weight", "2.4 kg"),
                    ("season", "four seasons"),
                ])
                .colours(&["Green", "Red"]),
            item(352, "Holm 3 Tunnel Tent", 71_900)
                .about("With a porch to cook in while it snows.")
                .with(&[
                    ("capacity", "3 persons"),
                    ("weight", "3.1 kg"),
                    ("season", "four seasons"),
                ])
                .colours(&["Green", "Red"]),
            item(353, "Skar 1 Tent", 34_900)
                .about("One person, one trekking pole, eight hundred grams.")
                .with(&[
                    ("capacity", "1 person"),
                    ("weight", "820 g"),
                    ("season", "three seasons"),
                ]),
            item(354, "Tarp, 3 x 3 m", 15_900)
                .about("Nineteen loops and a rope for each that matters.")
                .with(&[("size", "3 x 3 m"), ("weight", "590 g")])
                .colours(&["Moss", "Bark"]),
            item(355, "Snow and Sand Pegs, Set of 6", 2800)
                .about("Wide blades that hold where needles pull out.")
                .with(&[("material", "aluminium"), ("quantity", "6")]),
        ],
        ..LINE
    },
    Line {
        prefix: "SLP",
        category: "outdoor/camping/sleeping",
        brand: "Cairnhollow",
        about: "Tried by one of us for at least twenty nights.",
        items: &[
            item(401, "Dun Sleeping Bag, -10 °C", 38_900)
                .about("Hydrophobic down and a collar that seals with one hand.")
                .with(&[("fill", "700 cuin down"), ("weight", "1.3 kg")])
                .choose(&[axis("length", &["Regular", "Long"]).costing(&[0, 2500])]),
            item(402, "Dun Sleeping Bag, 0 °C", 25_900)
                .about("Three seasons, zips together with its neighbour.")
                .with(&[("fill", "700 cuin down"), ("weight", "890 g")])
                .choose(&[axis("length", &["Regular", "Long"]).costing(&[0, 2000])]),
            item(403, "Silk Liner", 6900)
                .about("Adds three degrees and keeps the down clean.")
                .with(&[("material", "silk"), ("weight", "125 g")]),
            item(404, "Insulated Air Mat", 13_900)
                .about("Warm enough for snow with a foam below.")
                .with(&[("weight", "540 g"), ("R-value", "5.1")])
                .choose(&[axis("width", &["Regular", "Wide"]).costing(&[0, 2500])]),
            item(405, "Folding Foam Mat", 4200)
                .about("Never leaks, never deflates, never comfortable; always there.")
                .with(&[("weight", "410 g"), ("R-value", "2.1")]),
            item(406, "Inflatable Pillow", 2900)
                .about("Brushed cover, two valves, fits in a fist.")
                .with(&[("weight", "78 g")]),
        ],
        ..LINE
    },
    Line {
        prefix: "CKG",
        category: "outdoor/camping/kitchen",
        brand: "Cairnhollow",
        about: "Parts nest into each other.",
        items: &[
            sold(shared::TARN_STOVE, 451, 4995),
            item(452, "Foss Liquid-Fuel Stove", 12_900)
                .about("Burns petrol and paraffin at minus thirty.")
                .with(&[("weight", "390 g"), ("power", "3 kW")]),
            item(453, "Titanium Pot, 900 ml", 5400)
                .about("Thin walls, folding handles, a lid with a strainer.")
                .with(&[("material", "titanium"), ("capacity", "900 ml"), ("weight", "110 g")]),
            item(454, "Birch Kuksa, 200 ml", 4400)
                .about("Carved by hand and boiled in salt water.")
                .with(&[("material", "birch"), ("capacity", "200 ml")]),
            item(455, "Spork and Spoon, Titanium", 1850)
                .about("Long enough for the bottom of the pouch.")
                .with(&[("material", "titanium"), ("quantity", "2")]),
            sold(shared::WREN_GRINDER, 456, 7600),
            sold(shared::SANDPIPER_PRESS, 457, 3450),
        ],
        ..LINE
    },
    Line {
        prefix: "AXE",
        category: "outdoor/camping/tools",
        brand: "Järnåsen",
        about: "Hand-forged in Västmanland; the maker invoices in Swedish kronor.",
        attributes: &[("material", "carbon steel and hickory")],
        currency: Some("SEK"),
        items: &[
            item(501, "Small Forest Axe", 129_000)
                .about("Splits kindling, limbs a spruce, fits on a pack.")
                .with(&[("length", "49 cm"), ("weight", "900 g")]),
            item(502, "Hand Hatchet", 109_000)
                .about("For huts and tinder.")
                .with(&[("length", "34 cm"), ("weight", "600 g")]),
            item(503, "Bushcraft Knife", 89_500)
                .about("A scandi grind on a full tang, with a leather sheath.")
                .with(&[("length", "22 cm"), ("weight", "170 g")]),
            item(504, "Folding Saw", 64_900)
                .about("Bites green wood on the pull.")
                .with(&[("length", "21 cm"), ("weight", "240 g")]),
            item(505, "Splitting Axe", 159_000)
                .about("A wedge with patience.")
                .with(&[("length", "70 cm"), ("weight", "1.9 kg")]),
        ],
        ..LINE
    },
    Line {
        prefix: "ACC",
        category: "outdoor/accessories",
        brand: "Skarvdal",
        about: "Small things that decide whether a day is good.",
        items: &[
            sold(shared::GLOW_HEADLAMP, 601, 3900),
            sold(shared::EMBER_LANTERN, 602, 4100),
            sold(shared::BROOK_BOTTLE, 603, 3200),
            sold(shared::CLEAR_FILTER, 604, 4200),
            sold(shared::POWER_BANK, 605, 3700),
            sold(shared::SUN_STICK, 606, 1450),
            sold(shared::BALM, 607, 650),
            item(608, "Sighting Compass", 4900)
                .about("Damped needle, clinometer, luminous marks.")
                .with(&[("weight", "74 g")]),
            item(609, "Storm Matches and Flint", 1250)
                .about("Burn for twelve seconds, even wet.")
                .with(&[("quantity", "25")]),
            item(610, "Compact First Aid Kit", 2800)
                .about("Checked by a mountain rescuer; blister plasters on top.")
                .with(&[("weight", "190 g")]),
        ],
        ..LINE
    },
];
