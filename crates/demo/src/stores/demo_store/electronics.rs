//! Sound, power, desks and the smart home.

use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;

pub(super) const LINES: &[Line] = &[
    Line {
        prefix: "AUDIO",
        category: "electronics/audio",
        brand: "Sonderay",
        about: "Firmware is updated for at least five years.",
        attributes: &[("warranty", "2 years")],
        items: &[
            sold(shared::HUSH_HEADPHONES, 101, 19_900),
            sold(shared::PEBBLE_SPEAKER, 102, 6900),
            sold(shared::DEW_EARBUDS, 103, 8900),
            item(104, "Hush Lite Wireless Headphones", 14_900)
                .about(
                    "On-ear and light, with thirty hours of battery and no noise cancelling to \
                     pay for.",
                )
                .with(&[
                    ("connection", "Bluetooth 5.3"),
                    ("battery life", "30 h"),
                    ("weight", "171 g"),
                ])
                .colours(&["Chalk", "Midnight", "Sage"]),
            item(105, "Boulder Home Speaker", 22_900)
                .about("A room-filling speaker with a linen front and inputs for a record player.")
                .with(&[
                    ("connection", "Bluetooth and Wi-Fi"),
                    ("power", "60 W"),
                    ("weight", "3.4 kg"),
                ])
                .colours(&["Oat", "Charcoal"]),
            item(106, "Slab Soundbar", 32_900)
                .about("Three channels and a wireless subwoofer that fits under a sofa.")
                .with(&[("connection", "HDMI eARC"), ("power", "180 W"), ("length", "82 cm")]),
            item(107, "Kitchen Radio", 5400)
                .about("DAB+ and FM with one large knob and an alarm that starts quietly.")
                .with(&[("connection", "DAB+ and FM"), ("power", "5 W")])
                .colours(&["Cream", "Pine"]),
            item(108, "Wired Studio Earphones", 3900)
                .about("A three-driver earphone with a detachable cable and a microphone.")
                .with(&[("connection", "3.5 mm"), ("weight", "18 g")])
                .choose(&[axis("plug", &["3.5 mm", "USB-C"]).costing(&[0, 500])]),
            item(109, "Hush Pro Wireless Headphones", 25_900)
                .about(
                    "Titanium drivers, a wool-blend band and hearing tests in the app. Ships \
                     next month.",
                )
                .with(&[
                    ("connection", "Bluetooth 5.4"),
                    ("battery life", "50 h"),
                    ("weight", "254 g"),
                ])
                .colours(&["Chalk", "Midnight"])
                .preorder(),
        ],
        ..LINE
    },
    Line {
        prefix: "POWER",
        category: "electronics/charging",
        brand: "Voltmere",
        about: "Tested for ten thousand plug cycles.",
        attributes: &[("warranty", "3 years")],
        items: &[
            sold(shared::CHARGER_65, 201, 4500),
            sold(shared::POWER_BANK, 202, 3995),
            sold(shared::BRAID_CABLE, 203, 1900),
            item(204, "Quad 100 W USB-C Charger", 6900)
                .about("Four ports, one of which gives a hundred watts when asked.")
                .with(&[
                    ("power", "100 W"),
                    ("ports", "3 x USB-C, 1 x USB-A"),
                    ("technology", "GaN"),
                ]),
            item(205, "Solo 30 W USB-C Charger", 2200)
                .about("For one phone or tablet, with folding prongs.")
                .with(&[("power", "30 W"), ("ports", "1 x USB-C")])
                .colours(&["White", "Graphite"]),
            item(206, "Carry 20 Power Bank, 20,000 mAh", 7900)
                .about("Charges a laptop once or a phone four times.")
                .with(&[("capacity", "20,000 mAh"), ("power", "65 W"), ("weight", "412 g")]),
            item(207, "Stone Wireless Charging Pad", 5900)
                .about("A slab of cast stone with a coil beneath; fifteen watts without a fan.")
                .with(&[("power", "15 W"), ("material", "cast stone")])
                .colours(&["Basalt", "Limestone"]),
            item(208, "Trio Charging Stand", 8400)
                .about("Phone upright, watch beside it, earbuds below.")
                .with(&[("power", "25 W"), ("material", "aluminium")]),
            item(209, "Braid USB-C Cable, 1 m", 1600)
                .about("The short one, for the bedside.")
                .with(&[("length", "1 m"), ("power", "100 W")])
                .colours(&["Oat", "Charcoal", "Brick"]),
            item(210, "Travel Plug for 150 Countries", 3400)
                .about("Slides out four standards and adds two USB-C ports.")
                .with(&[("power", "30 W"), ("ports", "2 x USB-C")]),
        ],
        ..LINE
    },
    Line {
        prefix: "DESK",
        category: "electronics/computing",
        brand: "Keyfern",
        about: "Works with Windows, macOS and Linux without drivers.",
        attributes: &[("warranty", "2 years")],
        items: &[
            sold(shared::TERN_KEYBOARD, 301, 12_900),
            sold(shared::SWIFT_MOUSE, 302, 4900),
            item(303, "Tern Full-Size Mechanical Keyboard", 15_900)
                .about("The compact board's big sister, with a number pad and a volume dial.")
                .with(&[
                    ("connection", "USB-C and Bluetooth"),
                    ("layout", "full"),
                    ("weight", "1.1 kg"),
                ])
                .choose(&[axis("switch", &["Linear", "Tactile", "Silent"]).costing(&[0, 0, 800])]),
            item(304, "Harrier Vertical Mouse", 7900)
                .about("Holds the hand as if shaking another; for right hands in two sizes.")
                .with(&[("connection", "Bluetooth and 2.4 GHz")])
                .choose(&[axis("size", &["S/M", "L"])]),
            item(305, "Nine-in-One USB-C Hub", 5900)
                .about("Two screens, a network port and slots for cards, without running hot.")
                .with(&[("ports", "9"), ("power", "100 W pass-through")]),
            item(307, "Wide Webcam 1440p", 9900)
                .about("A glass lens, a real shutter and two microphones that ignore fans.")
                .with(&[("resolution", "1440p"), ("connection", "USB-C")]),
            item(309, "Portable SSD", 11_900)
                .about("The size of a key, in a sleeve of silicone, encrypted if wanted.")
                .with(&[("connection", "USB-C, 1050 MB/s"), ("weight", "42 g")])
                .choose(&[axis("storage", &["1 TB", "2 TB", "4 TB"]).costing(&[0, 7000, 19_000])]),
            item(311, "Slate 15 Portable Monitor", 27_900)
                .about("A fifteen-inch second screen that stands on its cover.")
                .with(&[("resolution", "1920 x 1200"), ("weight", "640 g")]),
        ],
        ..LINE
    },
    Line {
        prefix: "RIG",
        category: "electronics/computing",
        brand: "Keyfern",
        about: "Fits desks from sixty centimetres deep.",
        attributes: &[("warranty", "2 years")],
        items: &[
            item(306, "Aluminium Laptop Stand", 6400)
                .about("Raises the screen by fifteen centimetres and folds flat.")
                .with(&[("material", "aluminium"), ("weight", "920 g")])
                .colours(&["Silver", "Black"]),
            item(308, "Wool Felt Desk Mat, 90 x 40 cm", 3800)
                .about("Five millimetres of merino felt on natural rubber.")
                .with(&[("material", "wool felt"), ("size", "90 x 40 cm")])
                .colours(&["Ash", "Forest"]),
            item(310, "Monitor Light Bar", 7400)
                .about("Lights the desk and not the screen; a dial sets warmth and strength.")
                .with(&[("power", "USB-C, 5 W"), ("length", "45 cm")]),
        ],
        ..LINE
    },
    Line {
        prefix: "SMART",
        category: "electronics/smart-home",
        brand: "Nestrel",
        about: "Runs locally over Matter; no account needed.",
        attributes: &[("connection", "Matter over Thread")],
        items: &[
            sold(shared::SMART_PLUG, 401, 2495),
            item(402, "Colour Light Bulb, E27", 3200)
                .about("White from candle to noon, and every colour for parties.")
                .with(&[("power", "9 W"), ("brightness", "810 lm")])
                .choose(&[axis("pack", &["One", "Three"]).costing(&[0, 4800])]),
            item(403, "Door and Window Sensor", 2900)
                .about("Two small bars that know whether the garden door is open.")
                .with(&[("battery life", "3 years")])
                .choose(&[axis("pack", &["One", "Four"]).costing(&[0, 6400])]),
            item(404, "Motion and Light Sensor", 4200)
                .about("Turns the hall light on only when it is dark enough to need it.")
                .with(&[("battery life", "2 years")]),
            item(405, "Quiet Thermostat", 16_900)
                .about("An e-paper dial that learns how long the house takes to warm up.")
                .with(&[("screen", "e-paper")])
                .colours(&["White", "Graphite"]),
            item(406, "Leak Sensor with Cable", 5400)
                .about("A metre of sensing cable for the back of the washing machine.")
                .with(&[("battery life", "5 years"), ("length", "1 m")]),
            item(407, "Indoor Air Monitor", 8900)
                .about("Carbon dioxide, humidity and fine dust on one calm display.")
                .with(&[("screen", "e-paper"), ("power", "USB-C")]),
            item(408, "Thread Border Router", 13_900)
                .about(
                    "Joins the small devices to the network and keeps working when the internet \
                     does not.",
                )
                .with(&[("power", "USB-C"), ("ports", "1 x Ethernet")]),
        ],
        ..LINE
    },
    Line {
        prefix: "READ",
        category: "electronics/readers",
        brand: "Folioray",
        attributes: &[("warranty", "2 years")],
        items: &[
            sold(shared::FOLIO_READER, 451, 16_900),
            item(452, "Folio 7 Cover", 3900)
                .about("Wakes the reader when opened and folds into a stand.")
                .with(&[("material", "recycled felt")])
                .colours(&["Pine", "Ink", "Clay"]),
            item(453, "Folio 10 Note Reader", 24_900)
                .about(
                    "Ten inches of paper to read on and write on, with a pen that needs no charge.",
                )
                .with(&[("screen", "10.3 in e-paper"), ("storage", "64 GB"), ("weight", "390 g")]),
        ],
        ..LINE
    },
];
