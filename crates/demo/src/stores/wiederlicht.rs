//! A shop for refurbished electronics in Berlin.

mod haushalt;

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::USUAL;
use crate::line::{Axis, LINE, Line, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "wiederlicht",
    currency: "EUR",
    member_since_days_ago: 700,
    habits: USUAL,
    deepest_stock: 16,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(30),
    free_shipping_threshold_minor: Some(7500),
    shipping_days: Some((2, 4)),
    return_summary: Some("Thirty days, no reasons asked; please remove your account first."),
    shipping_summary: Some("Insured parcel from Berlin; free from 75 euro."),
    privacy_url: Some("https://wiederlicht.example/privacy"),
    terms_url: Some("https://wiederlicht.example/terms"),
    warranty_months: Some(24),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Wiederlicht",
        legal_name: "Wiederlicht Elektronik GmbH",
        description: "Refurbished phones, laptops and sound from a workshop in Berlin. Every \
                      device is opened, cleaned, tested on forty points and graded honestly.",
        website_url: "https://wiederlicht.example",
        platform: "magento",
        active: true,
        country: "DE",
        currency: SHOP.currency,
        languages: vec!["de", "en"],
        ships_to: vec!["DE", "AT", "NL", "FR", "PL"],
        support_email: "werkstatt@wiederlicht.example",
        trust_score: Some(0.79),
        provisional: false,
        identity: verified("business", "company register", 260),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 38,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES, haushalt::LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("electronics", "Electronics"),
    ("electronics/phones", "Phones"),
    ("electronics/laptops", "Laptops & Computers"),
    ("electronics/tablets", "Tablets"),
    ("electronics/audio", "Audio"),
    ("electronics/cameras", "Cameras"),
    ("electronics/readers", "E-Readers"),
    ("electronics/computing", "Screens & Accessories"),
    ("electronics/spares", "Spare Parts"),
    ("electronics/gaming", "Gaming"),
    ("leuchten", "Lampen & Leuchten"),
    ("haushalt", "Haushalt"),
    ("haushalt/kueche", "Küchengeräte"),
    ("haushalt/geraete", "Haushaltsgeräte"),
    ("haushalt/ersatzteile", "Ersatzteile & Zubehör"),
];

/// How a used device looks; all of them work alike.
const GRADES: Axis = axis("grade", &["Good", "Very good", "As new"]).costing(&[0, 2500, 5500]);

const LINES: &[Line] = &[
    Line {
        prefix: "PH",
        category: "electronics/phones",
        brand: "Ordvik",
        about: "Battery above 85 percent, data erased twice, cosmetic grade stated.",
        axes: &[GRADES],
        condition: "refurbished",
        items: &[
            item(101, "Ordvik One Smartphone, 128 GB", 28_900)
                .about(
                    "A six-inch phone with updates until 2029 and a back that opens with one \
                     screw.",
                )
                .with(&[("storage", "128 GB"), ("memory", "6 GB"), ("screen", "6.1 in")])
                .colours(&["Graphite", "Sand"]),
            item(102, "Ordvik One Smartphone, 256 GB", 33_900)
                .about("Twice the room for photographs.")
                .with(&[("storage", "256 GB"), ("memory", "8 GB"), ("screen", "6.1 in")])
                .colours(&["Graphite", "Sand"]),
            item(103, "Ordvik Two Smartphone, 256 GB", 44_900)
                .about("The newer model: brighter screen, three cameras.")
                .with(&[("storage", "256 GB"), ("memory", "8 GB"), ("screen", "6.4 in")])
                .colours(&["Graphite", "Pine"]),
            item(104, "Ordvik Mini Smartphone, 64 GB", 18_900)
                .about("Still fits a front pocket.")
                .with(&[("storage", "64 GB"), ("memory", "4 GB"), ("screen", "5.2 in")])
                .colours(&["Graphite", "Coral"]),
            item(105, "Ordvik Senior Phone", 14_900)
                .about("Large keys, an emergency button and a cradle.")
                .with(&[("storage", "8 GB"), ("screen", "2.8 in")]),
            item(106, "Tessmark X Smartphone, 128 GB", 22_900)
                .about("A sober business phone with a headphone socket.")
                .with(&[("storage", "128 GB"), ("memory", "6 GB"), ("screen", "6.2 in")])
                .by("Tessmark"),
        ],
        ..LINE
    },
    Line {
        prefix: "LT",
        category: "electronics/laptops",
        brand: "Corvane",
        about: "Checked on forty points, inside and out.",
        condition: "refurbished",
        items: &[
            item(151, "Corvane Slate 13 Laptop", 54_900)
                .about("A light laptop with a keyboard people miss when they upgrade.")
                .with(&[("screen", "13.3 in"), ("weight", "1.2 kg")])
                .choose(&[
                    axis("memory", &["8 GB", "16 GB"]).costing(&[0, 6000]),
                    axis("storage", &["256 GB", "512 GB"]).costing(&[0, 5000]),
                ]),
            item(152, "Corvane Slate 14 Laptop", 68_900)
                .about("Matte screen, four ports, ten hours.")
                .with(&[("screen", "14 in"), ("weight", "1.4 kg")])
                .choose(&[
                    axis("memory", &["16 GB", "32 GB"]).costing(&[0, 11_000]),
                    axis("storage", &["512 GB", "1 TB"]).costing(&[0, 8000]),
                ]),
            item(153, "Corvane Works 15 Laptop", 89_900)
                .about("A workstation with a real graphics card and a fan that tries.")
                .with(&[("screen", "15.6 in"), ("weight", "2.1 kg")])
                .choose(&[axis("memory", &["16 GB", "32 GB"]).costing(&[0, 11_000])]),
            item(154, "Corvane Note 11 Laptop", 32_900)
                .about("For school: rubber edges, spill-proof keys.")
                .with(&[
                    ("screen", "11.6 in"),
                    ("memory", "4 GB"),
                    ("storage", "128 GB"),
                    ("weight", "1.3 kg"),
                ]),
            item(155, "Tessmark Fold Convertible", 42_900)
                .about("Turns into a tablet; the pen is in the hinge.")
                .with(&[("screen", "13 in"), ("memory", "8 GB"), ("storage", "256 GB")])
                .by("Tessmark"),
            item(156, "Corvane Cube Mini PC", 37_900)
                .about("Silent, the size of a sandwich.")
                .with(&[("memory", "16 GB"), ("storage", "512 GB"), ("weight", "780 g")]),
        ],
        ..LINE
    },
    Line {
        prefix: "TB",
        category: "electronics/tablets",
        brand: "Ordvik",
        about: "Charging cable included, charger not.",
        condition: "refurbished",
        items: &[
            item(201, "Ordvik Pad 10, 64 GB", 21_900)
                .about("Laminated screen, all-day battery.")
                .with(&[("storage", "64 GB"), ("screen", "10.1 in")])
                .colours(&["Graphite", "Silver"]),
            item(202, "Ordvik Pad 10, 128 GB", 27_900)
                .about("The same with room for films.")
                .with(&[("storage", "128 GB"), ("screen", "10.1 in")])
                .colours(&["Graphite", "Silver"]),
            item(203, "Ordvik Pad 12 with Pen", 38_900)
                .about("Draws without lag; pen and two tips in the box.")
                .with(&[("storage", "256 GB"), ("screen", "12.2 in")]),
            item(204, "Ordvik Pad 8, 32 GB", 12_900)
                .about("Kitchen radio, recipe book, children's cinema.")
                .with(&[("storage", "32 GB"), ("screen", "8 in")]),
        ],
        ..LINE
    },
    Line {
        prefix: "AU",
        category: "electronics/audio",
        brand: "Sonderay",
        about: "Tested with a full day of music.",
        condition: "refurbished",
        items: &[
            sold(shared::HUSH_HEADPHONES, 251, 11_900),
            sold(shared::PEBBLE_SPEAKER, 252, 4200),
            sold(shared::TWIST_TURNTABLE, 253, 17_900),
            item(254, "Sonderay Hush 1 Headphones", 8900)
                .about("The first generation: thirty hours, still excellent.")
                .with(&[("connection", "Bluetooth 5.0"), ("battery life", "30 h")])
                .colours(&["Chalk", "Midnight"]),
            item(255, "Sonderay Boulder Speaker", 14_900)
                .about("Tested at full volume on our roof.")
                .with(&[("connection", "Bluetooth and Wi-Fi"), ("power", "60 W")]),
            item(256, "Kantor USB Microphone", 5900)
                .about("Cardioid, with a stand we tightened ourselves.")
                .with(&[("connection", "USB-C")])
                .by("Kantor"),
        ],
        ..LINE
    },
    Line {
        prefix: "CA",
        category: "electronics/cameras",
        brand: "Lumagraf",
        about: "Cleaned, measured and photographed with its faults.",
        condition: "used",
        items: &[
            item(301, "Lumagraf M2 Mirrorless Camera", 39_900)
                .about("Twenty-four megapixels in a body that fits a coat.")
                .with(&[("resolution", "24 MP"), ("weight", "420 g")])
                .choose(&[axis("kit", &["Body", "With 35 mm lens"]).costing(&[0, 16_000])]),
            item(302, "Lumagraf Compact 3", 22_900)
                .about("A pocket camera with a viewfinder.")
                .with(&[("resolution", "20 MP"), ("weight", "290 g")]),
            item(303, "Lumagraf 35 mm f/2 Lens", 18_900)
                .about("The standard view, sharp from f/2.8.")
                .with(&[("weight", "180 g")]),
            item(304, "Lumagraf 85 mm f/1.8 Lens", 24_900)
                .about("For portraits; one tiny dust speck, priced accordingly.")
                .with(&[("weight", "340 g")]),
            item(305, "Lumagraf Film Camera F1", 12_900)
                .about("Mechanical shutter, new light seals, tested with a roll.")
                .with(&[("format", "35 mm"), ("weight", "560 g")]),
            item(306, "Travel Tripod, Carbon", 6400)
                .about("Four sections, one scratched leg.")
                .with(&[("material", "carbon fibre"), ("weight", "1.1 kg")]),
        ],
        ..LINE
    },
    Line {
        prefix: "RD",
        category: "electronics/readers",
        brand: "Folioray",
        about: "Screen checked for dead pixels.",
        condition: "refurbished",
        items: &[
            sold(shared::FOLIO_READER, 351, 9900),
            item(352, "Folioray Folio 6 E-Reader", 7900)
                .about("The small one, without warm light.")
                .with(&[("screen", "6 in e-paper"), ("storage", "8 GB"), ("weight", "170 g")]),
            item(353, "Folioray Folio 10 Reader", 17_900)
                .about("Large screen for papers and scores.")
                .with(&[("screen", "10.3 in e-paper"), ("storage", "64 GB")]),
        ],
        ..LINE
    },
    Line {
        prefix: "KB",
        category: "electronics/computing",
        brand: "Corvane",
        about: "Cleaned, tested and packed in cardboard.",
        condition: "refurbished",
        items: &[
            sold(shared::TERN_KEYBOARD, 401, 8400),
            sold(shared::SWIFT_MOUSE, 402, 2900),
            item(403, "Corvane 24-Inch Monitor", 14_900)
                .about("Full HD on a stand that lifts and turns.")
                .with(&[("resolution", "1920 x 1080"), ("screen", "24 in")]),
            item(404, "Corvane 27-Inch Monitor", 23_900)
                .about("Sharp enough for two pages side by side.")
                .with(&[("resolution", "2560 x 1440"), ("screen", "27 in")]),
            item(405, "Docking Station, USB-C", 8900)
                .about("Two screens, one cable; power supply included.")
                .with(&[("ports", "11"), ("power", "90 W")]),
            item(406, "Network Switch, 8 Ports", 5400)
                .about("Fanless, metal, dull and dependable.")
                .with(&[("ports", "8")]),
            item(407, "Two-Bay Network Storage", 11_900)
                .about("Without disks; firmware up to date.")
                .with(&[("ports", "2 x Ethernet"), ("memory", "2 GB")]),
            item(408, "Corvane Webcam HD", 3900)
                .about("With a shutter we wish we had invented.")
                .with(&[("resolution", "1080p")]),
        ],
        ..LINE
    },
    Line {
        prefix: "SP",
        category: "electronics/spares",
        brand: "Wiederlicht",
        about: "New, for devices that deserve a few more years.",
        items: &[
            item(451, "Ordvik One Replacement Battery", 3900)
                .about("Fits in ten minutes with the enclosed tool.")
                .with(&[("capacity", "3200 mAh")]),
            item(452, "Ordvik One Replacement Screen", 8900)
                .about("Frame, glass and adhesive.")
                .with(&[("screen", "6.1 in")]),
            item(453, "Corvane Slate 13 Battery", 6900)
                .about("Original cells, fresh date.")
                .with(&[("capacity", "52 Wh")]),
            item(454, "Corvane Slate Replacement Keyboard", 4900)
                .about("Backlit; forty screws and some patience.")
                .choose(&[axis("layout", &["German", "English", "French"])]),
            item(455, "Opening Tool Kit", 2400)
                .about("Spudgers, picks and the bits manufacturers hope you lack.")
                .with(&[("quantity", "24")]),
            item(456, "Thermal Paste and Pads", 1900)
                .about("For laptops that sound like hairdryers.")
                .with(&[("weight", "8 g")]),
            sold(shared::CHARGER_65, 457, 3600),
            sold(shared::BRAID_CABLE, 458, 1495),
            item(459, "Recycled Laptop Sleeve", 3400)
                .about("Sewn in Wedding from truck tarpaulin.")
                .with(&[("material", "tarpaulin")])
                .choose(&[axis("size", &["13 in", "14 in", "15 in"]).costing(&[0, 0, 300])]),
            item(460, "Ordvik One Case", 1200)
                .about("Printed from recycled filament.")
                .with(&[("material", "recycled plastic")])
                .colours(&["Black", "Sea"]),
        ],
        ..LINE
    },
    Line {
        prefix: "GM",
        category: "electronics/gaming",
        brand: "Pixelmoor",
        about: "Every button pressed a hundred times.",
        condition: "used",
        items: &[
            item(501, "Pixelmoor Pocket Console", 15_900)
                .about("A handheld for old games and long journeys.")
                .with(&[("screen", "3.5 in"), ("storage", "64 GB")])
                .colours(&["Grey", "Berry"]),
            item(502, "Pixelmoor Controller", 3900)
                .about("New sticks, old charm.")
                .with(&[("connection", "Bluetooth")])
                .colours(&["Grey", "Berry"]),
            item(503, "Pixelmoor Home Console", 24_900)
                .about("With one controller and all its cables.")
                .with(&[("storage", "512 GB")])
                .discontinued(),
        ],
        ..LINE
    },
];
