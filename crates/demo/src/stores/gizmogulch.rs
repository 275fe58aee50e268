//! A shop for cheap gadgets with a bad record and sloppy data.

use super::not_verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::SLOPPY;
use crate::line::{LINE, Line, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "gizmogulch",
    currency: "USD",
    member_since_days_ago: 290,
    habits: SLOPPY,
    deepest_stock: 900,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(7),
    free_shipping_threshold_minor: None,
    shipping_days: Some((15, 45)),
    return_summary: Some("7 days, buyer pay shipping, no refund on sale items."),
    shipping_summary: None,
    privacy_url: None,
    terms_url: None,
    warranty_months: None,
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "GizmoGulch Deals",
        legal_name: "GG Deals Trading LLC",
        description: "1000s of gadgets at crazy price !! New deals every day. Fast shipping.",
        website_url: "https://gizmogulch.example",
        platform: "woocommerce",
        active: true,
        country: "US",
        currency: SHOP.currency,
        languages: vec!["en"],
        ships_to: vec!["US", "CA", "GB", "AU"],
        support_email: "support@gizmogulch.example",
        trust_score: Some(0.34),
        provisional: false,
        identity: not_verified("unverified"),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 9000,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("electronics", "Electronics"),
    ("electronics/gadgets", "Gadgets"),
    ("electronics/charging", "Charging"),
    ("electronics/phone-accessories", "Phone Accessories"),
    ("electronics/audio", "Audio"),
    ("electronics/smart-home", "Smart Home"),
    ("home-kitchen", "Home"),
    ("home-kitchen/gadgets", "Kitchen Gadgets"),
    ("home-kitchen/tools", "Tools"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "GG",
        category: "electronics/gadgets",
        brand: "GZMX",
        about: "Best price !! Limited offer !!",
        attributes: &[("condition note", "bulk packed")],
        items: &[
            item(101, "Smart Watch Ultra Fit Pro Max", 999)
                .about("Heart rate, blood pressure, 100 sport modes, calls. Strap may differ.")
                .colours(&["Black", "Pink", "Orange"]),
            item(102, "Mini Projector 4K Support", 1499)
                .about("Native 480p, supports 4K input. Home cinema anywhere.")
                .with(&[("resolution", "480p")]),
            item(103, "Wireless Earbuds TWS i99", 799)
                .about("Touch control, HIFI bass, with box.")
                .colours(&["White", "Black"]),
            item(104, "Drone with Dual Camera", 1299)
                .about("Foldable, altitude hold, 10 min flying time.")
                .with(&[("battery life", "10 min")]),
            item(105, "Selfie Ring Light 6 Inch", 599).about("Three colours, phone holder, USB."),
            item(106, "Phone Camera Lens Kit 3in1", 399)
                .about("Fisheye, wide, macro. Universal clip.")
                .with(&[("quantity", "3")]),
            item(107, "Karaoke Microphone Bluetooth", 899)
                .about("Speaker inside, LED lights, for party.")
                .colours(&["Gold", "Rose", "Black"]),
            item(108, "Night Light Astronaut Galaxy", 650).about("Projects stars on the ceiling."),
            item(109, "Digital Photo Scanner", 1199)
                .about("Negatives to phone in seconds. App required."),
            item(110, "USB Fan with Clip", 499)
                .about("3 speeds, quiet, for desk or stroller.")
                .colours(&["White", "Green", "Pink"]),
            item(111, "Finger Light Gloves", 299).about("For repair and fishing."),
            item(112, "Portable Monitor 14 inch", 1999)
                .about("Full HD, no stand.")
                .with(&[("resolution", "1920 x 1080")]),
        ],
        ..LINE
    },
    Line {
        prefix: "GC",
        category: "electronics/charging",
        brand: "GZMX",
        about: "Fast delivery 15-45 days.",
        items: &[
            item(201, "Fast Charger 120W Style", 499)
                .about("Real output 18 W. Plug type random.")
                .with(&[("power", "18 W")]),
            item(202, "3in1 Charging Cable", 250)
                .about("Works with all phones. Colour random.")
                .with(&[("length", "1.2 m")]),
            item(203, "Power Bank 50000 mAh Slim", 999)
                .about("Real capacity 6,000 mAh, four cables inside.")
                .with(&[("capacity", "6,000 mAh")])
                .colours(&["Black", "White"]),
            item(204, "Magnetic Wireless Charger", 699)
                .about("Sticks to back of phone.")
                .with(&[("power", "10 W")]),
            item(205, "Car Charger Dual USB", 350)
                .about("Voltage display.")
                .with(&[("power", "24 W")]),
            item(206, "Solar Charger Foldable", 1299)
                .about("For camping, three panels.")
                .with(&[("power", "8 W")]),
            sold(shared::CHARGER_65, 207, 2999),
            sold(shared::POWER_BANK, 208, 2499),
            sold(shared::BRAID_CABLE, 209, 999),
        ],
        ..LINE
    },
    Line {
        prefix: "GP",
        category: "electronics/phone-accessories",
        brand: "PHONZO",
        about: "Check your model before order !",
        items: &[
            item(251, "Clear Phone Case", 199).about("Soft, anti yellow. Select model in notes."),
            item(252, "Tempered Glass 3 Pack", 299)
                .about("9H hardness, bubble free.")
                .with(&[("quantity", "3")]),
            item(253, "Phone Ring Holder", 399)
                .about("Strong glue, 360 degree.")
                .colours(&["Black", "Silver", "Gold"]),
            item(254, "Gooseneck Phone Holder", 550)
                .about("For bed and desk.")
                .with(&[("length", "80 cm")]),
            item(255, "Car Phone Mount Gravity", 750).about("Vent clip, one hand."),
            item(256, "Waterproof Phone Pouch", 450)
                .about("For swimming to 10 m, not guaranteed.")
                .colours(&["Blue", "Black"]),
            item(257, "Cable Organizer Clips 10 pcs", 250)
                .about("Self-adhesive.")
                .with(&[("quantity", "10")]),
            item(258, "Tripod Selfie Stick", 850)
                .about("With remote, extends to 1 m.")
                .with(&[("length", "1 m")]),
        ],
        ..LINE
    },
    Line {
        prefix: "GA",
        category: "electronics/audio",
        brand: "BOOMZO",
        about: "Super bass !!",
        items: &[
            item(301, "Mini Bluetooth Speaker", 950)
                .about("LED, radio, card slot.")
                .colours(&["Red", "Blue", "Black"]),
            item(302, "Neckband Earphones", 699)
                .about("Sport, magnetic.")
                .colours(&["Black", "Red"]),
            item(303, "Gaming Headset RGB", 1250).about("For PC and console, mic included."),
            sold(shared::DEW_EARBUDS, 304, 4999),
            item(305, "Soundbar Mini", 1599)
                .about("Desktop, USB power.")
                .with(&[("power", "10 W")]),
            item(306, "Wired Earphones 2 Pack", 550)
                .about("3.5 mm jack.")
                .with(&[("quantity", "2")]),
            item(307, "Party Speaker with Wheels", 2299)
                .about("Flame light effect, battery 2 h.")
                .with(&[("power", "40 W")]),
        ],
        ..LINE
    },
    Line {
        prefix: "GH",
        category: "home-kitchen/gadgets",
        brand: "HOMEZZ",
        about: "As seen on video.",
        items: &[
            item(351, "Vegetable Chopper 12in1", 699)
                .about("Twelve blades, you will use two.")
                .with(&[("quantity", "12")]),
            item(352, "Electric Lighter USB", 450).about("For candles, no flame."),
            item(353, "Silicone Lids Stretch 6 pcs", 350)
                .about("Fit any bowl.")
                .with(&[("quantity", "6")]),
            item(354, "Mini Sewing Machine", 899).about("Handheld, battery not included."),
            item(355, "Automatic Soap Dispenser", 599).about("Infrared, 3 x AAA not included."),
            item(356, "Lint Remover Rechargeable", 799).about("Steel blades, six leaf."),
            item(357, "Banana Slicer", 299).about("Slices bananas."),
            item(358, "Mini Waffle Maker", 1099)
                .about("Heart shape, 10 cm.")
                .colours(&["Red", "Mint"]),
            item(359, "Milk Frother Handheld", 650).about("AA battery, steel whisk."),
            item(360, "Kitchen Scale Digital", 499)
                .about("5 kg, 1 g.")
                .with(&[("capacity", "5 kg")]),
        ],
        ..LINE
    },
    Line {
        prefix: "GS",
        category: "electronics/smart-home",
        brand: "SMARTIO",
        about: "Need app.",
        items: &[
            item(401, "Smart Bulb RGB WiFi", 599)
                .about("16 million colours.")
                .with(&[("power", "7 W")]),
            item(402, "Indoor Camera 360", 1499)
                .about("Night vision, talk, cloud plan extra.")
                .with(&[("resolution", "1080p")]),
            item(403, "LED Strip 10 m", 1299)
                .about("Remote, music mode.")
                .with(&[("length", "10 m")]),
            sold(shared::SMART_PLUG, 404, 1799),
            item(405, "Video Doorbell Wireless", 1999)
                .about("Chime included.")
                .with(&[("resolution", "720p")]),
            item(406, "Key Finder 2 Pack", 399).about("Beeps if found.").with(&[("quantity", "2")]),
        ],
        ..LINE
    },
    Line {
        prefix: "GT",
        category: "home-kitchen/tools",
        brand: "TOOLZ",
        about: "Not for professional use.",
        items: &[
            item(451, "Precision Screwdriver 25in1", 799)
                .about("For phone, watch, glasses.")
                .with(&[("quantity", "25")]),
            item(452, "Mini Electric Drill", 999).about("With 5 bits.").with(&[("power", "12 V")]),
            item(453, "Work Light COB", 499)
                .about("Magnet, hook.")
                .with(&[("brightness", "200 lm")]),
            item(454, "Tyre Inflator Cordless", 1399)
                .about("Digital, car and bike.")
                .with(&[("pressure", "6 bar")]),
            item(455, "Tape Measure 5 m", 299).about("Auto lock.").with(&[("length", "5 m")]),
            item(456, "Pressure Washer Gun Cordless", 1699)
                .about("For 21 V battery, battery not included.")
                .discontinued(),
        ],
        ..LINE
    },
];
