//! A bicycle parts shop in the Netherlands.

use super::not_verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::USUAL;
use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "spaak-en-zoon",
    currency: "EUR",
    member_since_days_ago: 530,
    habits: USUAL,
    deepest_stock: 120,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(30),
    free_shipping_threshold_minor: Some(7000),
    shipping_days: Some((1, 3)),
    return_summary: Some("Thirty days for parts that have not been mounted."),
    shipping_summary: Some("Ordered before four, there tomorrow; free from 70 euro."),
    privacy_url: Some("https://spaak-en-zoon.example/privacy"),
    terms_url: Some("https://spaak-en-zoon.example/terms"),
    warranty_months: Some(24),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Spaak & Zoon",
        legal_name: "Spaak en Zoon Rijwielen B.V.",
        description: "Bicycle parts and tools for people who ride every day, from a workshop in \
                      Utrecht that builds its own wheels.",
        website_url: "https://spaak-en-zoon.example",
        platform: "prestashop",
        active: true,
        country: "NL",
        currency: SHOP.currency,
        languages: vec!["nl", "en", "de"],
        ships_to: vec!["NL", "BE", "DE", "FR"],
        support_email: "werkplaats@spaak-en-zoon.example",
        trust_score: Some(0.73),
        provisional: false,
        identity: not_verified("pending"),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 130,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("cycling", "Cycling"),
    ("cycling/drivetrain", "Drivetrain"),
    ("cycling/brakes", "Brakes"),
    ("cycling/tyres", "Tyres & Tubes"),
    ("cycling/wheels", "Wheels"),
    ("cycling/cockpit", "Bars & Saddles"),
    ("cycling/lights", "Lights"),
    ("cycling/tools", "Tools & Care"),
    ("cycling/bags", "Bags & Locks"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "DR",
        category: "cycling/drivetrain",
        brand: "Tandrad",
        about: "Torque values are printed on the box.",
        attributes: &[("material", "steel")],
        items: &[
            item(101, "Tandrad 9-Speed Chain", 2450)
                .about("Nickel-plated with a tool-free link.")
                .with(&[("speeds", "9"), ("length", "116 links")]),
            item(102, "Tandrad 10-Speed Chain", 2950)
                .about("Hollow pins, quiet plates.")
                .with(&[("speeds", "10"), ("length", "116 links")]),
            item(103, "Tandrad 11-Speed Chain", 3600)
                .about("Polished inside, where it matters.")
                .with(&[("speeds", "11"), ("length", "118 links")]),
            item(104, "Cassette 9-Speed", 3400)
                .about("Wide steps for loaded bikes.")
                .with(&[("speeds", "9")])
                .choose(&[axis("range", &["11-28", "11-34"]).costing(&[0, 300])]),
            item(105, "Cassette 10-Speed", 4200)
                .about("Even steps for even wind.")
                .with(&[("speeds", "10")])
                .choose(&[axis("range", &["11-28", "11-34", "11-42"]).costing(&[0, 300, 900])]),
            item(106, "Cassette 11-Speed", 6400)
                .about("Machined spider, replaceable lockring.")
                .with(&[("speeds", "11")])
                .choose(&[axis("range", &["11-28", "11-34"]).costing(&[0, 300])]),
            item(107, "Chainring, Narrow-Wide", 4800)
                .about("Holds the chain on cobbles.")
                .with(&[("material", "aluminium")])
                .choose(&[axis("teeth", &["38", "40", "42", "44"]).costing(&[0, 0, 0, 200])]),
            item(108, "Square-Taper Crankset", 8900)
                .about("Forged arms and a ring that can be replaced.")
                .with(&[("material", "aluminium")])
                .choose(&[axis("length", &["165 mm", "170 mm", "175 mm"])]),
            item(109, "Bottom Bracket, Sealed", 3200)
                .about("Four bearings for Dutch winters.")
                .choose(&[axis("width", &["110 mm", "113 mm", "118 mm"])]),
            item(110, "Belt Drive Sprocket Set", 5400)
                .about("For frames that already open.")
                .with(&[("material", "steel and carbon belt")])
                .discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "BR",
        category: "cycling/brakes",
        brand: "Remhoek",
        about: "Sold per wheel unless stated otherwise.",
        items: &[
            item(151, "Rim Brake Pads, Pair", 1495)
                .about("Salmon compound, quiet in the wet.")
                .with(&[("quantity", "2")]),
            item(152, "Disc Brake Pads", 1650)
                .about("Sintered for rain, organic for silence.")
                .choose(&[axis("compound", &["Organic", "Sintered"]).costing(&[0, 200])]),
            item(153, "Brake Rotor", 2900)
                .about("Laser-cut, rounded edges.")
                .with(&[("material", "stainless steel")])
                .choose(&[axis("size", &["140 mm", "160 mm", "180 mm"]).costing(&[0, 0, 300])]),
            item(154, "Brake Cable Set", 1250)
                .about("Stainless inner, lined outer, four caps.")
                .with(&[("length", "1.7 m")])
                .colours(&["Black", "Silver", "Green"]),
            item(155, "Hydraulic Brake, Complete", 7800)
                .about("Lever, hose and caliper, bled.")
                .choose(&[axis("side", &["Front", "Rear"])]),
            item(156, "Cantilever Brake Set", 4400)
                .about("Wide arms with clearance for mud.")
                .with(&[("material", "aluminium"), ("quantity", "2")]),
        ],
        ..LINE
    },
    Line {
        prefix: "TY",
        category: "cycling/tyres",
        brand: "Klinker",
        about: "Come by and we fit it while you wait.",
        items: &[
            item(201, "Klinker City Tyre", 2995)
                .about("Rolls easily and shrugs off tram rails.")
                .choose(&[axis("size", &["28-622", "37-622", "42-622"]).costing(&[0, 0, 200])]),
            item(202, "Klinker Touring Tyre", 3995)
                .about("Ten thousand kilometres, we have counted.")
                .choose(&[axis("size", &["37-622", "42-622", "47-622"]).costing(&[0, 0, 200])]),
            item(203, "Klinker Gravel Tyre", 4495)
                .about("Tubeless-ready, fine centre tread.")
                .choose(&[axis("size", &["38-622", "43-622", "50-584"])])
                .colours(&["Black", "Tan Wall"]),
            item(204, "Klinker Winter Tyre", 3495)
                .about("A hundred and forty studs.")
                .choose(&[axis("size", &["35-622", "40-622"]).costing(&[0, 300])]),
            item(205, "Inner Tube", 695)
                .about("Valve nut, valve cap, no surprises.")
                .choose(&[axis("valve", &["Dunlop", "Presta", "Schrader"])]),
            item(206, "Tubeless Sealant, 500 ml", 1495)
                .about("Seals holes to four millimetres.")
                .with(&[("capacity", "500 ml")]),
            item(207, "Patch Kit", 495)
                .about("Six patches, glue and sandpaper in a tin.")
                .with(&[("quantity", "6")]),
        ],
        ..LINE
    },
    Line {
        prefix: "WH",
        category: "cycling/wheels",
        brand: "Spaak & Zoon",
        about: "From our own wheel bench.",
        items: &[
            item(251, "Commuter Front Wheel with Dynamo Hub", 12_900)
                .about("Light without batteries for twenty years.")
                .with(&[("spokes", "36"), ("size", "622")]),
            item(252, "Commuter Rear Wheel", 10_900)
                .about("Double-walled rim, freehub for nine to eleven.")
                .with(&[("spokes", "36"), ("size", "622")]),
            item(253, "Gravel Wheelset", 31_900)
                .about("Tubeless rims, straight-pull spokes.")
                .with(&[("spokes", "28"), ("size", "622"), ("weight", "1.8 kg")]),
            item(254, "Stainless Spoke", 150)
                .about("Cut and threaded to length while you wait.")
                .choose(&[axis("length", &["184 mm", "256 mm", "260 mm", "292 mm"])]),
            item(255, "Rim Tape, Tubeless", 1800)
                .about("Ten metres, enough for two wheels.")
                .choose(&[axis("width", &["21 mm", "25 mm", "30 mm"]).costing(&[0, 0, 100])]),
            item(256, "Hub Service Kit", 2400).about("Cones, balls and the right grease."),
        ],
        ..LINE
    },
    Line {
        prefix: "CO",
        category: "cycling/cockpit",
        brand: "Stuurboord",
        about: "Mounted and ridden by us before we list it.",
        items: &[
            item(301, "City Handlebar", 3800)
                .about("Swept back like grandfather's.")
                .with(&[("material", "aluminium"), ("width", "62 cm")])
                .colours(&["Silver", "Black"]),
            item(302, "Flared Gravel Bar", 5400)
                .about("Sixteen degrees of flare.")
                .with(&[("material", "aluminium")])
                .choose(&[axis("width", &["42 cm", "44 cm", "46 cm"])]),
            item(303, "Adjustable Stem", 2800)
                .about("For finding out, before buying the right one.")
                .with(&[("material", "aluminium")])
                .choose(&[axis("length", &["90 mm", "110 mm"])]),
            item(304, "Cork Grips", 2450)
                .about("Sealed ends, no glue.")
                .with(&[("material", "cork")]),
            item(305, "Bar Tape", 1995)
                .about("Two millimetres, tacky in rain.")
                .colours(&["Black", "Honey", "Blue"]),
            item(306, "Leather Saddle", 7900)
                .about("Hard for a month, then yours for ever.")
                .with(&[("material", "leather")])
                .colours(&["Honey", "Black"]),
            item(307, "Gel City Saddle", 4900)
                .about("For upright riders.")
                .colours(&["Black", "Brown"]),
            item(308, "Seatpost, 350 mm", 3400)
                .about("Two bolts, micro adjustment.")
                .with(&[("material", "aluminium")])
                .choose(&[axis("diameter", &["27.2 mm", "30.9 mm", "31.6 mm"])]),
            item(309, "Brass Bell", 2200)
                .about("One clear note that says sorry first.")
                .with(&[("material", "brass")]),
        ],
        ..LINE
    },
    Line {
        prefix: "LI",
        category: "cycling/lights",
        brand: "Spindrake",
        about: "Approved for Dutch and German roads.",
        items: &[
            sold(shared::BEAM_LIGHTS, 351, 4995),
            item(352, "Dynamo Front Light, 80 Lux", 6400)
                .about("Stands still for four minutes, shining.")
                .with(&[("brightness", "80 lux")]),
            item(353, "Dynamo Rear Light", 2400)
                .about("Brake light included.")
                .with(&[("brightness", "60 lm")]),
            sold(shared::GLOW_HEADLAMP, 354, 4150),
        ],
        ..LINE
    },
    Line {
        prefix: "TL",
        category: "cycling/tools",
        brand: "Spindrake",
        about: "Used in our own workshop.",
        items: &[
            sold(shared::SPIN_MULTITOOL, 401, 4495),
            sold(shared::MINI_PUMP, 402, 3495),
            item(403, "Floor Pump with Gauge", 6400)
                .about("Ash handle, steel base, eleven bar.")
                .with(&[("pressure", "11 bar")]),
            item(404, "Chain Whip and Lockring Tool", 2900)
                .about("Two tools, one hour saved.")
                .with(&[("material", "tool steel")]),
            item(405, "Cable Cutter", 2400)
                .about("Clean ends, also on housing.")
                .with(&[("material", "tool steel")]),
            item(406, "Spoke Key and Tension Gauge", 3900)
                .about("Reads in kilogram-force.")
                .with(&[("material", "tool steel")]),
            item(407, "Tyre Levers, Set of 3", 950)
                .about("Nylon over steel.")
                .with(&[("quantity", "3")]),
            item(408, "Chain Oil, 100 ml", 1295)
                .about("Plant-based, wet conditions.")
                .with(&[("capacity", "100 ml")])
                .choose(&[axis("type", &["Wet", "Dry"])]),
            item(409, "Bike Cleaner, 1 L", 1850)
                .about("Biodegradable, safe on discs.")
                .with(&[("capacity", "1 L")]),
        ],
        ..LINE
    },
    Line {
        prefix: "BG",
        category: "cycling/bags",
        brand: "Kanaaltas",
        about: "For daily use in all weather.",
        items: &[
            item(451, "Canal Pannier, 18 L", 7400)
                .about("Clicks on, rolls shut, floats.")
                .with(&[("volume", "18 L")])
                .colours(&["Ochre", "Black", "Blue"]),
            item(452, "Handlebar Bag, 6 L", 4900)
                .about("Map sleeve and shoulder strap.")
                .with(&[("volume", "6 L")])
                .colours(&["Ochre", "Black"]),
            item(453, "Saddle Bag", 3400)
                .about("Tube, tool, levers, sandwich.")
                .with(&[("volume", "1.2 L")]),
            item(454, "Front Carrier", 8900)
                .about("Thirty kilograms or one patient child's schoolbag.")
                .with(&[("material", "steel"), ("maximum load", "30 kg")])
                .colours(&["Black", "Steel"]),
            sold(shared::BROOK_BOTTLE, 455, 3100),
            sold(shared::MERINO_GAITER, 456, 2650),
            item(457, "Plate Lock with Chain", 6900)
                .about("Frame lock and chain for the bike rack at the station.")
                .with(&[("material", "hardened steel")]),
        ],
        ..LINE
    },
];
