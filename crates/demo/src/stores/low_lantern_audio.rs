//! A shop for hi-fi in the United States whose orders arrive late too often.

use super::not_verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::CARELESS;
use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "low-lantern-audio",
    currency: "USD",
    member_since_days_ago: 350,
    habits: CARELESS,
    deepest_stock: 20,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(14),
    free_shipping_threshold_minor: Some(20_000),
    shipping_days: Some((7, 21)),
    return_summary: Some("Fourteen days, sealed boxes only, 15 percent restocking fee."),
    shipping_summary: Some("By ground service once everything is in; free from $200."),
    privacy_url: None,
    terms_url: Some("https://low-lantern-audio.example/terms"),
    warranty_months: Some(12),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Low Lantern Audio",
        legal_name: "Low Lantern Audio Co.",
        description: "Turntables, speakers and amplifiers for small rooms, from a listening shop \
                      in Ohio. Special orders take a while.",
        website_url: "https://low-lantern-audio.example",
        platform: "shopify",
        active: true,
        country: "US",
        currency: SHOP.currency,
        languages: vec!["en"],
        ships_to: vec!["US"],
        support_email: "shop@low-lantern-audio.example",
        trust_score: Some(0.58),
        provisional: false,
        identity: not_verified("pending"),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 2160,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("electronics", "Electronics"),
    ("electronics/audio", "Audio"),
    ("electronics/audio/turntables", "Turntables"),
    ("electronics/audio/speakers", "Speakers"),
    ("electronics/audio/amplifiers", "Amplifiers"),
    ("electronics/audio/headphones", "Headphones"),
    ("electronics/audio/cables", "Cables"),
    ("electronics/audio/record-care", "Record Care"),
    ("electronics/audio/radios", "Radios & Tape"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "TT",
        category: "electronics/audio/turntables",
        brand: "Sonderay",
        about: "Allow two to four weeks for special orders.",
        items: &[
            sold(shared::TWIST_TURNTABLE, 101, 29_900),
            item(102, "Twist Pro Turntable", 44_900)
                .about("Acrylic platter and an external power supply.")
                .with(&[("speeds", "33/45 rpm"), ("drive", "belt"), ("weight", "6.8 kg")])
                .colours(&["Black", "Walnut"]),
            item(103, "Nine Direct-Drive Turntable", 64_900)
                .about("Starts in half a second, stays for decades.")
                .with(&[("speeds", "33/45/78 rpm"), ("drive", "direct"), ("weight", "11 kg")]),
            item(104, "Moving Magnet Cartridge", 8900)
                .about("An elliptical stylus that tracks warped records.")
                .with(&[("stylus", "elliptical")]),
            item(105, "Microline Cartridge", 17_900)
                .about("Inner grooves without the lisp.")
                .with(&[("stylus", "microline")]),
            item(106, "Replacement Stylus, Elliptical", 3900)
                .about("Slides on without tools.")
                .with(&[("stylus", "elliptical")]),
            item(107, "Cork Turntable Mat", 2400)
                .about("Three millimetres, kills static.")
                .with(&[("material", "cork"), ("size", "30 cm")]),
            item(108, "Phono Preamp", 12_900)
                .about("Switchable gain, linear supply.")
                .with(&[("power", "12 V")]),
        ],
        ..LINE
    },
    Line {
        prefix: "SP",
        category: "electronics/audio/speakers",
        brand: "Bellfern",
        about: "Can be heard in our shop.",
        items: &[
            item(151, "Bookshelf Speakers, 5 Inch", 39_900)
                .about("A real-wood cabinet and a tweeter without glare.")
                .with(&[("power", "80 W"), ("impedance", "6 ohm")])
                .colours(&["Walnut", "Black Ash"]),
            item(152, "Bookshelf Speakers, 6.5 Inch", 54_900)
                .about("Half an octave more.")
                .with(&[("power", "100 W"), ("impedance", "6 ohm")])
                .colours(&["Walnut", "Black Ash"]),
            item(153, "Floorstanding Speakers", 119_900)
                .about("Two and a half ways, rear port, spikes.")
                .with(&[("power", "180 W"), ("impedance", "4 ohm")])
                .colours(&["Walnut", "Black Ash"]),
            item(154, "Active Desktop Speakers", 45_900)
                .about("USB, optical and a sub output.")
                .with(&[("power", "2 x 50 W"), ("connection", "USB-C and optical")]),
            item(155, "Compact Subwoofer", 37_900)
                .about("Ten inches, sealed, polite.")
                .with(&[("power", "200 W")]),
            item(156, "Speaker Stands, Pair", 9900)
                .about("Fillable columns, 60 cm.")
                .with(&[("material", "steel"), ("height", "60 cm")]),
            item(157, "Wall Brackets, Pair", 7400)
                .about("Tilt and swivel up to eight kilograms.")
                .with(&[("material", "steel")]),
            sold(shared::PEBBLE_SPEAKER, 158, 6400),
        ],
        ..LINE
    },
    Line {
        prefix: "AM",
        category: "electronics/audio/amplifiers",
        brand: "Bellfern",
        about: "Built in batches of twenty.",
        items: &[
            item(201, "Integrated Amplifier, 2 x 60 W", 49_900)
                .about("A phono stage, a headphone socket and one large knob.")
                .with(&[("power", "2 x 60 W")])
                .colours(&["Silver", "Black"]),
            item(202, "Integrated Amplifier, 2 x 100 W", 79_900)
                .about("The same with a streaming board.")
                .with(&[("power", "2 x 100 W")])
                .colours(&["Silver", "Black"]),
            item(203, "Desktop Class D Amplifier", 19_900)
                .about("The size of a paperback.")
                .with(&[("power", "2 x 50 W")]),
            item(204, "Tube Headphone Amplifier", 34_900)
                .about("Two valves, a warm case.")
                .with(&[("power", "1 W")]),
            item(205, "Streaming DAC", 24_900)
                .about("Wi-Fi in, analogue out.")
                .with(&[("connection", "Wi-Fi and Ethernet")]),
            item(206, "USB DAC Dongle", 11_900)
                .about("For phones that lost their socket.")
                .with(&[("connection", "USB-C")]),
        ],
        ..LINE
    },
    Line {
        prefix: "HP",
        category: "electronics/audio/headphones",
        brand: "Sonderay",
        about: "Open boxes cannot be returned.",
        items: &[
            sold(shared::HUSH_HEADPHONES, 251, 18_900),
            sold(shared::DEW_EARBUDS, 252, 9400),
            item(253, "Open Field Headphones", 29_900)
                .about("Open-backed, for quiet rooms.")
                .with(&[("impedance", "150 ohm"), ("weight", "310 g")]),
            item(254, "Studio Closed Headphones", 14_900)
                .about("Isolating, replaceable everything.")
                .with(&[("impedance", "80 ohm"), ("weight", "280 g")]),
            item(255, "Planar Headphones", 44_900)
                .about("Flat drivers, flat response, heavy box.")
                .with(&[("impedance", "32 ohm"), ("weight", "420 g")]),
            item(256, "In-Ear Monitors, Dual Driver", 7900)
                .about("Detachable cable, memory-wire hooks.")
                .with(&[("impedance", "24 ohm")]),
            item(257, "Replacement Ear Pads", 3400)
                .about("Velour or leatherette.")
                .choose(&[axis("material", &["Velour", "Leatherette"])]),
            item(258, "Walnut Headphone Stand", 4400)
                .about("One bend of plywood.")
                .with(&[("material", "walnut")]),
        ],
        ..LINE
    },
    Line {
        prefix: "CB",
        category: "electronics/audio/cables",
        brand: "Low Lantern",
        about: "Terminated on our bench.",
        items: &[
            item(301, "RCA Cable", 2900)
                .about("Oxygen-free copper, moulded plugs.")
                .choose(&[axis("length", &["0.5 m", "1 m", "2 m"]).costing(&[0, 400, 900])]),
            item(302, "Speaker Cable, per Meter", 250)
                .about("Four square millimetres.")
                .with(&[("material", "copper")]),
            item(303, "Banana Plugs, Set of 8", 2400)
                .about("Screw type, no solder.")
                .with(&[("quantity", "8")]),
            item(304, "Optical Cable", 3400).about("Glass, not plastic.").choose(&[axis(
                "length",
                &["1 m", "2 m"],
            )
            .costing(&[0, 400])]),
            item(305, "Balanced XLR Cable, Pair", 4900)
                .about("For active speakers.")
                .choose(&[axis("length", &["1 m", "3 m"]).costing(&[0, 1200])]),
            item(306, "Headphone Extension, 3 m", 1900)
                .about("Braided and quiet.")
                .with(&[("length", "3 m")]),
        ],
        ..LINE
    },
    Line {
        prefix: "VN",
        category: "electronics/audio/record-care",
        brand: "Low Lantern",
        about: "What we use on our own shelves.",
        items: &[
            item(351, "Carbon Fiber Record Brush", 2900)
                .about("A million bristles, one stroke.")
                .with(&[("material", "carbon fiber")]),
            item(352, "Record Washing Basin", 4900)
                .about("Two brushes, a drying rack, no motor.")
                .with(&[("material", "plastic")]),
            item(353, "Cleaning Fluid, 500 ml", 1900)
                .about("Alcohol-free.")
                .with(&[("capacity", "500 ml")]),
            item(354, "Inner Sleeves, Pack of 50", 2400)
                .about("Anti-static, round bottom.")
                .with(&[("quantity", "50")]),
            item(355, "Outer Sleeves, Pack of 50", 2900)
                .about("Clear, thick, acid-free.")
                .with(&[("quantity", "50")]),
            item(356, "Stylus Gel Cleaner", 1400)
                .about("Dip, lift, listen.")
                .with(&[("weight", "20 g")]),
            item(357, "Record Weight, Brass", 7900)
                .about("Half a kilogram of calm.")
                .with(&[("material", "brass"), ("weight", "500 g")]),
            item(358, "Stackable Record Crate", 8900)
                .about("Holds ninety albums, stacks three high.")
                .with(&[("material", "birch plywood")])
                .colours(&["Natural", "Black"]),
        ],
        ..LINE
    },
    Line {
        prefix: "RD",
        category: "electronics/audio/radios",
        brand: "Low Lantern",
        about: "Stock is small and changes.",
        items: &[
            item(401, "Restored Tabletop Radio, 1950s Style", 22_900)
                .about("A new amplifier in a walnut case of the period.")
                .with(&[("connection", "FM and Bluetooth")]),
            item(402, "Portable World Band Radio", 11_900)
                .about("Shortwave, longwave, crank.")
                .with(&[("connection", "AM, FM and SW")]),
            item(403, "Shower Radio", 5900)
                .about("Suction cup, big knob.")
                .with(&[("protection", "IPX5")])
                .discontinued(),
            item(404, "Cassette Deck, Portable", 18_900)
                .about("Type I and II, line out, aluminium lid.")
                .with(&[("connection", "3.5 mm")])
                .preorder(),
            item(405, "Blank Cassettes, Pack of 3", 850)
                .about("Sixty minutes each.")
                .with(&[("quantity", "3")]),
            item(406, "FM Antenna Wire", 3400)
                .about("Three metres and a good window.")
                .with(&[("length", "3 m")]),
        ],
        ..LINE
    },
];
