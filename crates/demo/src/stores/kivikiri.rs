//! A print workshop in Estonia that charges in USDC.

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::USUAL;
use crate::line::{LINE, Line, SIZES, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "kivikiri",
    currency: "USDC",
    member_since_days_ago: 410,
    habits: USUAL,
    deepest_stock: 60,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(14),
    free_shipping_threshold_minor: Some(90_000_000),
    shipping_days: Some((5, 10)),
    return_summary: Some("Fourteen days, unframed and uncreased."),
    shipping_summary: Some("Rolled or flat, tracked, from Tallinn; free from 90 USDC."),
    privacy_url: Some("https://kivikiri.example/privacy"),
    terms_url: Some("https://kivikiri.example/terms"),
    warranty_months: None,
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Kivikiri Press",
        legal_name: "Kivikiri OÜ",
        description: "Risographs, linocuts, plotter drawings and keycaps from a print workshop \
                      in Tallinn. Paid in USDC, packed in cardboard.",
        website_url: "https://kivikiri.example",
        platform: "medusa",
        active: true,
        country: "EE",
        currency: SHOP.currency,
        languages: vec!["en", "et"],
        ships_to: vec!["EE", "FI", "LV", "DE", "NL", "US", "GB"],
        support_email: "press@kivikiri.example",
        trust_score: Some(0.77),
        provisional: false,
        identity: verified("basic", "domain and bank account", 74),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 22,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("prints", "Prints"),
    ("prints/risograph", "Risographs"),
    ("prints/linocut", "Linocuts"),
    ("prints/generative", "Generative"),
    ("prints/postcards", "Postcards & Stickers"),
    ("prints/zines", "Zines"),
    ("desk", "Desk"),
    ("desk/keycaps", "Keyboards & Keycaps"),
    ("desk/accessories", "Desk Accessories"),
    ("frames", "Frames"),
    ("clothing", "Clothing"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "RI",
        category: "prints/risograph",
        brand: "Kivikiri",
        about: "Printed with rice-bran ink in an edition of two hundred; slight misalignment is \
                the point.",
        attributes: &[("paper", "recycled, 190 g")],
        axes: &[axis("size", &["A4", "A3"]).costing(&[0, 1200])],
        items: &[
            item(101, "Bog Pines at Four in the Morning", 2400)
                .about("Two layers of green and one of fluorescent pink."),
            item(102, "The Last Tram to Kopli", 2400)
                .about("Rain, headlights, a man with a cello."),
            item(103, "Archive Cat", 2400).about("Asleep on a drawer labelled K to M."),
            item(104, "Forty Kinds of Rye Bread", 2400).about("A chart in brown and blue."),
            item(105, "Ferry Timetable, 1961", 2400)
                .about("Set again from a scrap found in a wall."),
            item(106, "Mushroom Plate", 2400).about("Twelve edible, one not; find it."),
            item(107, "Limestone Cliff", 2400).about("Eleven strata, eleven greys."),
            item(108, "Radio Tower in Fog", 2400).about("A study in one colour."),
            item(109, "Midsummer Bonfire", 2600)
                .about("Orange over violet, still smelling of ink.")
                .preorder(),
            item(110, "Island Bus Stop", 2400).about("Wooden, painted, empty.").discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "LN",
        category: "prints/linocut",
        brand: "Kivikiri",
        about: "Pulled by hand, numbered and signed.",
        attributes: &[("paper", "cotton, 250 g")],
        items: &[
            item(151, "Heron, Standing", 6800)
                .about("A block of forty centimetres cut in nine evenings.")
                .with(&[("size", "30 x 40 cm")]),
            item(152, "Eel, Moving", 6800)
                .about("The heron's other half.")
                .with(&[("size", "30 x 40 cm")]),
            item(153, "Juniper Branch", 5400)
                .about("Dense black with white berries.")
                .with(&[("size", "24 x 30 cm")]),
            item(154, "Fishing Hut", 5400)
                .about("Three boards, two windows.")
                .with(&[("size", "24 x 30 cm")]),
            item(155, "The Whole Coast", 12_000)
                .about("A panorama on three sheets.")
                .with(&[("size", "90 x 30 cm"), ("quantity", "3")]),
        ],
        ..LINE
    },
    Line {
        prefix: "GE",
        category: "prints/generative",
        brand: "Kivikiri",
        about: "Every sheet comes from a different seed, printed on the back.",
        attributes: &[("paper", "cotton, 300 g"), ("size", "40 x 40 cm")],
        items: &[
            item(201, "Hash Meadow", 8500)
                .about("Grass drawn by a thousand short strokes of a pen plotter.")
                .choose(&[axis("ink", &["Green", "Black"])]),
            item(202, "Tide Automaton", 8500)
                .about("Cellular waves that never repeat.")
                .choose(&[axis("ink", &["Blue", "Black"])]),
            item(203, "Packed Circles, Gold Pen", 9500)
                .about("About nine hundred circles and no overlaps."),
            item(204, "Wandering Lines", 8500).about("One line, forty-one metres long."),
            item(205, "Flow Field, Four Colours", 11_000)
                .about("Drawn in one night by a patient machine.")
                .with(&[("size", "50 x 50 cm")]),
        ],
        ..LINE
    },
    Line {
        prefix: "PC",
        category: "prints/postcards",
        brand: "Kivikiri",
        about: "Thick enough to survive three sorting offices.",
        attributes: &[("paper", "recycled, 350 g")],
        items: &[
            item(251, "Postcards, Bog Set of 6", 1200)
                .about("Six views without a single person.")
                .with(&[("quantity", "6")]),
            item(252, "Postcards, Type Set of 6", 1200)
                .about("Six letters that are hard to draw.")
                .with(&[("quantity", "6")]),
            item(253, "Postcards, Bread Set of 6", 1200)
                .about("Details from the rye chart.")
                .with(&[("quantity", "6")]),
            item(254, "Sticker Sheet, Errors", 450)
                .about("Kernel panic, paper jam, out of cheese.")
                .with(&[("quantity", "9")]),
            item(255, "Sticker Sheet, Forest", 450)
                .about("Nine mushrooms, waterproof.")
                .with(&[("quantity", "9")]),
        ],
        ..LINE
    },
    Line {
        prefix: "BK",
        category: "prints/zines",
        brand: "Kivikiri",
        about: "Stapled, trimmed and read by us first.",
        attributes: &[("language", "English")],
        items: &[
            item(301, "How to Plot a Curve", 1400)
                .about("Thirty-two pages on pens, paper and servo motors.")
                .with(&[("pages", "32")]),
            item(302, "A Field Guide to Misprints", 1400)
                .about("Ghosts, smears and happy accidents.")
                .with(&[("pages", "40")]),
            item(303, "Type from the Tram", 1600)
                .about("Lettering of a city that keeps changing its alphabet.")
                .with(&[("pages", "48")]),
            item(304, "Slow Software", 1400)
                .about("Essays on programs that wait.")
                .with(&[("pages", "36")]),
            item(305, "Consensus, a Comic", 1800)
                .about("Seven generals, one lunch.")
                .with(&[("pages", "56")]),
        ],
        ..LINE
    },
    Line {
        prefix: "KC",
        category: "desk/keycaps",
        brand: "Kivikiri",
        about: "Made in small batches; shades differ between them.",
        items: &[
            item(351, "Artisan Keycap, Amber Fly", 3800)
                .about("A real leaf, an invented fly.")
                .with(&[("material", "resin"), ("profile", "SA R1")])
                .colours(&["Honey", "Smoke"]),
            item(352, "Artisan Keycap, Moss Stone", 3400)
                .about("Limestone dust under a green glaze.")
                .with(&[("material", "resin"), ("profile", "SA R1")]),
            item(353, "Artisan Keycap, Night Ferry", 3400)
                .about("A lit window the size of a grain of rice.")
                .with(&[("material", "resin"), ("profile", "SA R1")]),
            item(354, "Keycap Set, Limestone", 12_900)
                .about("A hundred and forty-two caps in three greys, dye-sublimated.")
                .with(&[("material", "PBT"), ("profile", "Cherry")])
                .choose(&[axis("layout", &["ISO", "ANSI"])]),
            item(355, "Keycap Set, Bog", 13_900)
                .about("Peat, moss and cranberry.")
                .with(&[("material", "PBT"), ("profile", "Cherry")])
                .choose(&[axis("layout", &["ISO", "ANSI"])]),
            sold(shared::TERN_KEYBOARD, 356, 13_400),
            item(357, "Coiled Keyboard Cable", 2900)
                .about("Wound on a mandrel in our back room.")
                .with(&[("material", "paracord"), ("length", "1.5 m")])
                .colours(&["Peat", "Cranberry", "Grey"]),
        ],
        ..LINE
    },
    Line {
        prefix: "DK",
        category: "desk/accessories",
        brand: "Kivikiri",
        about: "Made a street away.",
        items: &[
            sold(shared::DOT_NOTEBOOK, 401, 2400),
            item(402, "Oak Card Holder", 4400)
                .about("One slot, twelve cards, a magnet.")
                .with(&[("material", "bog oak")]),
            item(403, "Steel Seed Phrase Plate", 6200)
                .about("Twenty-four words, one hammer, no ink.")
                .with(&[("material", "stainless steel"), ("quantity", "1")]),
            item(404, "Desk Ruler, Brass", 2800)
                .about("Centimetres, picas and Didot points.")
                .with(&[("material", "brass"), ("length", "30 cm")]),
            item(405, "Plotter Pen Set", 3600)
                .about("Eight archival pens with plotter sleeves.")
                .with(&[("quantity", "8")]),
            item(406, "Bone Folder", 1900)
                .about("Polished, shaped for the left hand too.")
                .with(&[("material", "bone")]),
            item(407, "Desk Pad, Recycled Felt", 5800)
                .about("Printed with a grid that fades towards the edges.")
                .with(&[("material", "recycled felt"), ("size", "80 x 35 cm")]),
            item(408, "Enamel Pin, Merge Conflict", 2200)
                .about("Two arrows, one regret.")
                .with(&[("material", "enamel")]),
        ],
        ..LINE
    },
    Line {
        prefix: "FR",
        category: "frames",
        brand: "Kivikiri",
        about: "Cut to order and packed flat.",
        items: &[
            item(451, "Ash Frame", 4800)
                .about("Thin profile, museum acrylic.")
                .choose(&[axis("size", &["A4", "A3", "40 x 40 cm"]).costing(&[0, 1600, 1800])])
                .colours(&["Natural", "Black"]),
            item(452, "Magnetic Poster Hanger", 2900)
                .about("Two battens and a cord.")
                .choose(&[axis("width", &["21 cm", "30 cm", "40 cm"]).costing(&[0, 300, 600])])
                .colours(&["Oak", "Walnut"]),
            item(453, "Hanging Kit", 1450)
                .about("Rails, hooks and a level for careful people.")
                .with(&[("quantity", "12")]),
        ],
        ..LINE
    },
    Line {
        prefix: "WR",
        category: "clothing",
        brand: "Kivikiri",
        about: "Screen-printed on heavy cotton.",
        attributes: &[("material", "organic cotton")],
        items: &[
            item(501, "T-Shirt, Off by One", 3600)
                .about("Printed one centimetre too far left.")
                .choose(&[SIZES])
                .colours(&["White", "Ink"]),
            item(502, "T-Shirt, Archive Cat", 3600)
                .about("Same drawer, bigger cat.")
                .choose(&[SIZES])
                .colours(&["Grey", "Ink"]),
            item(503, "Workshop Jacket", 7200)
                .about("Three pockets and a loop for a bone folder.")
                .with(&[("material", "cotton twill")])
                .choose(&[SIZES]),
            item(504, "Tote, Limestone", 1800)
                .about("Eleven greys to carry onions in.")
                .with(&[("material", "cotton canvas")]),
        ],
        ..LINE
    },
];
