//! Packs, camp and clothes for weather.

use crate::line::{LINE, Line, SIZES, axis, item, sold};
use crate::shared;

pub(super) const LINES: &[Line] = &[
    Line {
        prefix: "PACK",
        category: "outdoor/packs",
        brand: "Skerrow",
        about: "Repaired by us for as long as the cloth holds.",
        attributes: &[("material", "recycled nylon")],
        items: &[
            sold(shared::RIDGE_DAYPACK, 101, 11_000),
            item(102, "Ridge 45 Trekking Pack", 18_900)
                .about(
                    "A frame that takes fifteen kilograms off the shoulders and a lid that \
                     becomes a hip bag.",
                )
                .with(&[("volume", "45 L"), ("weight", "1.4 kg")])
                .choose(&[axis("back", &["Short", "Regular", "Long"])])
                .colours(&["Juniper", "Storm"]),
            item(103, "Harbour Roll-Top, 25 L", 7400)
                .about("Welded seams keep the laptop dry on the bike and in the boat.")
                .with(&[("volume", "25 L"), ("weight", "690 g")])
                .colours(&["Ochre", "Ink"]),
            item(104, "Sling Bag, 6 L", 4800)
                .about("Camera, book, rain shell: the afternoon bag.")
                .with(&[("volume", "6 L"), ("weight", "260 g")])
                .colours(&["Rust", "Storm", "Black"]),
            item(105, "Weekender Duffel, 40 L", 12_900)
                .about("Opens wide, carries on the back and fits above the seat.")
                .with(&[("volume", "40 L"), ("weight", "960 g")])
                .colours(&["Juniper", "Black"]),
            item(106, "Packing Cubes, Set of 4", 3400)
                .about("Ripstop cubes with one mesh side and a label window.")
                .with(&[("quantity", "4"), ("weight", "210 g")])
                .colours(&["Ochre", "Slate"]),
            item(107, "Dry Bags, Set of 3", 2600)
                .about(
                    "Three, eight and thirteen litres in colours that can be told apart at night.",
                )
                .with(&[("quantity", "3"), ("volume", "3, 8 and 13 L")]),
        ],
        ..LINE
    },
    Line {
        prefix: "CAMP",
        category: "outdoor/camping",
        brand: "Cairnhollow",
        about: "Spare parts and repairs for ten years.",
        items: &[
            item(201, "Lintel 2 Tent", 34_900)
                .about("Two doors, two porches and a fly that goes up first when it rains.")
                .with(&[
                    ("capacity", "2 persons"),
                    ("season", "three seasons"),
                    ("weight", "1.9 kg"),
                    ("water column", "3000 mm"),
                ])
                .colours(&["Lichen", "Sand"]),
            item(202, "Lintel 3 Tent", 46_900)
                .about("The same tent with room for a child or a dog.")
                .with(&[
                    ("capacity", "3 persons"),
                    ("season", "three seasons"),
                    ("weight", "2.5 kg"),
                    ("water column", "3000 mm"),
                ])
                .colours(&["Lichen", "Sand"]),
            item(203, "Hollow Down Sleeping Bag, 0 °C", 21_900)
                .about("Responsibly sourced down, a collar that closes and a foot that opens.")
                .with(&[("fill", "650 cuin duck down"), ("weight", "870 g")])
                .choose(&[axis("length", &["Regular", "Long"]).costing(&[0, 2000])]),
            item(204, "Air Sleeping Mat", 11_900)
                .about(
                    "Nine centimetres of quiet air, insulated, in a bag no bigger than a bottle.",
                )
                .with(&[("weight", "495 g"), ("R-value", "4.2")])
                .choose(&[axis("width", &["Regular", "Wide"]).costing(&[0, 2500])]),
            sold(shared::TARN_STOVE, 205, 5400),
            item(206, "Camp Cook Set for Two", 4200)
                .about("Two pots, two bowls and a lid that is a strainer.")
                .with(&[("material", "hard-anodised aluminium"), ("weight", "480 g")]),
            item(207, "Low Camp Chair", 8900)
                .about("Sets up in a minute and keeps you off the wet grass.")
                .with(&[("weight", "1.1 kg"), ("maximum load", "130 kg")])
                .colours(&["Moss", "Rust"]),
            item(208, "Roll-Up Camp Table", 6400)
                .about("Slats of aluminium on folding legs; stands level on a slope.")
                .with(&[("material", "aluminium"), ("weight", "1.6 kg")]),
            item(209, "Enamel Camp Mugs, Pair", 2450)
                .about("Double-dipped enamel with a steel rim; fine on embers.")
                .with(&[("material", "enamelled steel"), ("capacity", "350 ml"), ("quantity", "2")])
                .colours(&["Navy", "Cream"]),
            item(210, "Double Hammock with Straps", 13_900)
                .about("Parachute cloth for two, with tree-friendly straps.")
                .with(&[("weight", "730 g"), ("maximum load", "200 kg")])
                .colours(&["Ochre", "Forest"]),
            item(211, "Picnic Blanket, Waterproof", 2900)
                .about("Wool-touch fleece above, coated cloth below, a strap to carry it by.")
                .with(&[("size", "150 x 200 cm")])
                .colours(&["Tartan", "Stripe"]),
            sold(shared::GLOW_HEADLAMP, 212, 4200),
        ],
        ..LINE
    },
    Line {
        prefix: "WATER",
        category: "outdoor/hydration",
        brand: "Driftmark",
        about: "Spare lids and seals are always available.",
        attributes: &[("material", "stainless steel")],
        items: &[
            sold(shared::BROOK_BOTTLE, 301, 3400),
            item(302, "Brook Insulated Bottle, 1 L", 4200)
                .about("A day's water in one bottle, with a handle to clip to.")
                .with(&[("capacity", "1 L"), ("weight", "450 g")])
                .colours(&["Glacier", "Moss", "Sand"]),
            item(303, "Commuter Tumbler, 450 ml", 2900)
                .about("A lid that can be turned upside down in a bag of papers.")
                .with(&[("capacity", "450 ml"), ("weight", "290 g")])
                .colours(&["Sand", "Ink", "Brick"]),
            item(304, "Children's Bottle, 350 ml", 2400)
                .about("A straw, a loop and a base that bounces.")
                .with(&[("capacity", "350 ml"), ("weight", "240 g")])
                .colours(&["Fox", "Whale", "Owl"]),
            item(305, "Food Flask, 500 ml", 3800)
                .about("Soup at noon as hot as at seven.")
                .with(&[("capacity", "500 ml"), ("weight", "370 g")]),
            sold(shared::CLEAR_FILTER, 306, 4400),
        ],
        ..LINE
    },
    Line {
        prefix: "SHELL",
        category: "outdoor/clothing",
        brand: "Fellstrand",
        about: "Zips and toggles are replaced free of charge.",
        attributes: &[("material", "recycled polyester")],
        axes: &[SIZES],
        items: &[
            item(401, "Squall Rain Jacket", 22_900)
                .about("Three layers, pit zips and a hood that turns with the head.")
                .with(&[("weight", "410 g"), ("water column", "20,000 mm")])
                .colours(&["Lichen", "Ink"]),
            item(402, "Squall Rain Trousers", 11_900)
                .about("Zips to the hip, so boots can stay on.")
                .with(&[("weight", "290 g"), ("water column", "20,000 mm")]),
            item(403, "Hearth Insulated Jacket", 16_900)
                .about("Synthetic fill that warms when damp and packs into its pocket.")
                .with(&[("weight", "380 g")])
                .colours(&["Rust", "Storm"]),
            item(404, "Grid Fleece Half-Zip", 9800)
                .about("Breathes uphill, insulates on the col.")
                .with(&[("weight", "240 g")])
                .colours(&["Moss", "Oat", "Ink"]),
        ],
        ..LINE
    },
    Line {
        prefix: "WOOL",
        category: "outdoor/clothing",
        brand: "Fellstrand",
        about: "Mulesing-free wool, made in Portugal.",
        attributes: &[("material", "merino wool")],
        items: &[
            item(451, "Merino T-Shirt", 7900)
                .about("Worn for a week, it still smells like nothing.")
                .with(&[("weight", "150 g")])
                .choose(&[SIZES])
                .colours(&["Ink", "Oat", "Bracken"]),
            item(452, "Merino Long-Sleeve", 9400)
                .about("Thumb loops and flat seams where the pack sits.")
                .with(&[("weight", "190 g")])
                .choose(&[SIZES])
                .colours(&["Ink", "Bracken"]),
            item(453, "Merino Hiking Socks", 2400)
                .about("Cushioned at heel and toe and nowhere else.")
                .with(&[("weight", "68 g")])
                .choose(&[axis("size", &["36-38", "39-41", "42-44", "45-47"])])
                .colours(&["Slate", "Rust"]),
            item(454, "Ribbed Watch Cap", 3400)
                .about("Double knit, one size, no bobble.")
                .with(&[("weight", "80 g")])
                .colours(&["Ink", "Mustard", "Moss"]),
            item(455, "Merino Liner Gloves", 4200)
                .about("Work on touch screens and under mittens.")
                .with(&[("weight", "45 g")])
                .choose(&[axis("size", &["S", "M", "L"])]),
            sold(shared::MERINO_GAITER, 456, 2800),
            item(457, "Boiled Wool Overshirt", 12_900)
                .about("Two chest pockets, horn buttons, good for the pub and the pass.")
                .with(&[("weight", "620 g"), ("material", "boiled wool")])
                .choose(&[SIZES])
                .colours(&["Bracken", "Ink"]),
        ],
        ..LINE
    },
    Line {
        prefix: "RIDE",
        category: "outdoor/cycling",
        brand: "Spindrake",
        attributes: &[("warranty", "2 years")],
        items: &[
            sold(shared::BEAM_LIGHTS, 501, 5800),
            sold(shared::SPIN_MULTITOOL, 504, 4600),
            sold(shared::MINI_PUMP, 505, 3650),
            item(502, "Roll-Closure Pannier, 20 L", 6800)
                .about("One bag that clicks on with one hand.")
                .with(&[("volume", "20 L"), ("weight", "820 g")])
                .colours(&["Ochre", "Black"]),
            item(503, "Round Commuter Helmet", 7400)
                .about("Covers the temples, with a light in the dial.")
                .choose(&[axis("size", &["S", "M", "L"])])
                .colours(&["Chalk", "Ink", "Sage"]),
        ],
        ..LINE
    },
];
