//! Articles of brands that several stores carry: one GTIN, different prices, so that comparing
//! merchants has something to show.

use crate::line::Good;

pub(crate) const HERON_KETTLE: Good = Good {
    key: "ottermoor/heron-kettle",
    brand: "Ottermoor",
    name: "Heron Gooseneck Kettle, 0.9 L",
    about: "Electric gooseneck kettle with a counterweighted handle and a slow, steady pour. \
            Holds any temperature between 50 and 100 °C for half an hour.",
    attributes: &[("material", "stainless steel"), ("capacity", "0.9 L"), ("power", "1000 W")],
    colours: &["Matte Black", "Brushed Steel"],
};

pub(crate) const WREN_GRINDER: Good = Good {
    key: "ottermoor/wren-grinder",
    brand: "Ottermoor",
    name: "Wren Hand Coffee Grinder",
    about: "Steel conical burrs in an aluminium body that fits beside a travel mug. Thirty-six \
            clicks from espresso to French press.",
    attributes: &[("material", "aluminium"), ("capacity", "25 g"), ("weight", "480 g")],
    colours: &[],
};

pub(crate) const DIPPER_SCALE: Good = Good {
    key: "ottermoor/dipper-scale",
    brand: "Ottermoor",
    name: "Dipper Brew Scale with Timer",
    about: "Weighs to a tenth of a gram and starts its timer with the first drop of water. \
            Charges over USB-C.",
    attributes: &[("capacity", "2 kg"), ("resolution", "0.1 g"), ("power", "USB-C")],
    colours: &[],
};

pub(crate) const BITTERN_PRESS: Good = Good {
    key: "ottermoor/bittern-press",
    brand: "Ottermoor",
    name: "Bittern Double-Wall French Press, 1 L",
    about: "Keeps four cups hot for an hour. The two-stage mesh leaves almost no silt in the cup.",
    attributes: &[("material", "stainless steel"), ("capacity", "1 L"), ("weight", "890 g")],
    colours: &["Steel", "Graphite"],
};

pub(crate) const PAPER_FILTERS: Good = Good {
    key: "ottermoor/filters-02",
    brand: "Ottermoor",
    name: "Unbleached Cone Filters No. 2, 100 Sheets",
    about: "Heavy unbleached paper that rinses without a papery taste. Fits all cone drippers \
            for two to four cups.",
    attributes: &[("material", "paper"), ("size", "No. 2"), ("quantity", "100")],
    colours: &[],
};

pub(crate) const SANDPIPER_PRESS: Good = Good {
    key: "ottermoor/sandpiper",
    brand: "Ottermoor",
    name: "Sandpiper Travel Press, 350 ml",
    about: "Brew, press and drink from one insulated tumbler; the grounds stay under a sealed \
            plate.",
    attributes: &[("material", "stainless steel"), ("capacity", "350 ml"), ("weight", "310 g")],
    colours: &["Moss", "Slate", "Clay"],
};

pub(crate) const HUSH_HEADPHONES: Good = Good {
    key: "sonderay/hush-2",
    brand: "Sonderay",
    name: "Hush 2 Wireless Headphones",
    about: "Over-ear headphones with noise cancelling that stays calm in wind. Forty hours per \
            charge, folding hinges and a cable for planes.",
    attributes: &[("connection", "Bluetooth 5.3"), ("battery life", "40 h"), ("weight", "262 g")],
    colours: &["Chalk", "Midnight"],
};

pub(crate) const PEBBLE_SPEAKER: Good = Good {
    key: "sonderay/pebble",
    brand: "Sonderay",
    name: "Pebble Portable Speaker",
    about: "A fist-sized speaker with a passive radiator underneath and a loop to hang it by. \
            Survives rain and a drop from a table.",
    attributes: &[
        ("connection", "Bluetooth 5.3"),
        ("battery life", "14 h"),
        ("protection", "IP67"),
    ],
    colours: &["Lichen", "Basalt", "Coral"],
};

pub(crate) const DEW_EARBUDS: Good = Good {
    key: "sonderay/dew",
    brand: "Sonderay",
    name: "Dew True Wireless Earbuds",
    about: "Small buds with four sizes of soft tips and a case that holds three more charges.",
    attributes: &[("connection", "Bluetooth 5.3"), ("battery life", "8 h"), ("protection", "IPX4")],
    colours: &["Ivory", "Ink"],
};

pub(crate) const TWIST_TURNTABLE: Good = Good {
    key: "sonderay/twist",
    brand: "Sonderay",
    name: "Twist Belt-Drive Turntable",
    about: "Belt-drive deck with a carbon tonearm and a phono stage that can be switched off.",
    attributes: &[("speeds", "33/45 rpm"), ("drive", "belt"), ("weight", "5.2 kg")],
    colours: &[],
};

pub(crate) const CHARGER_65: Good = Good {
    key: "voltmere/duo-65",
    brand: "Voltmere",
    name: "Duo 65 W USB-C Charger",
    about: "Two ports share 65 watts: enough for a laptop and a phone from a plug the size of a \
            matchbox.",
    attributes: &[("power", "65 W"), ("ports", "2 x USB-C"), ("technology", "GaN")],
    colours: &[],
};

pub(crate) const POWER_BANK: Good = Good {
    key: "voltmere/carry-10",
    brand: "Voltmere",
    name: "Carry 10 Power Bank, 10,000 mAh",
    about: "Charges a phone twice and shows the remaining percentage in numbers.",
    attributes: &[("capacity", "10,000 mAh"), ("power", "22.5 W"), ("weight", "198 g")],
    colours: &["Graphite", "Sage"],
};

pub(crate) const BRAID_CABLE: Good = Good {
    key: "voltmere/braid-2m",
    brand: "Voltmere",
    name: "Braid USB-C Cable, 2 m",
    about: "Woven sleeve, metal plugs and a leather tie; carries 100 watts.",
    attributes: &[("length", "2 m"), ("power", "100 W")],
    colours: &[],
};

pub(crate) const TERN_KEYBOARD: Good = Good {
    key: "keyfern/tern",
    brand: "Keyfern",
    name: "Tern Compact Mechanical Keyboard",
    about: "Seventy-five percent layout with hot-swappable switches and thick keycaps that do \
            not turn shiny.",
    attributes: &[
        ("connection", "USB-C and Bluetooth"),
        ("layout", "75 percent"),
        ("weight", "810 g"),
    ],
    colours: &["Fog", "Charcoal"],
};

pub(crate) const SWIFT_MOUSE: Good = Good {
    key: "keyfern/swift",
    brand: "Keyfern",
    name: "Swift Silent Mouse",
    about: "A mid-sized mouse with muted clicks and a wheel that can spin freely. One charge \
            lasts about two months.",
    attributes: &[("connection", "Bluetooth and 2.4 GHz"), ("weight", "89 g")],
    colours: &["Fog", "Charcoal"],
};

pub(crate) const SMART_PLUG: Good = Good {
    key: "nestrel/plug",
    brand: "Nestrel",
    name: "Nestrel Smart Plug with Energy Meter",
    about: "Switches by schedule or phone and shows what the appliance really uses. Works \
            locally without an account.",
    attributes: &[("connection", "Wi-Fi and Matter"), ("maximum load", "2300 W")],
    colours: &[],
};

pub(crate) const FOLIO_READER: Good = Good {
    key: "folioray/folio-7",
    brand: "Folioray",
    name: "Folio 7 E-Reader",
    about: "Seven-inch paper-like screen with warm light and page buttons on both sides. Reads \
            EPUB and PDF without conversion.",
    attributes: &[("screen", "7 in e-paper"), ("storage", "32 GB"), ("weight", "195 g")],
    colours: &[],
};

pub(crate) const GLOW_HEADLAMP: Good = Good {
    key: "lumbrook/glow-400",
    brand: "Lumbrook",
    name: "Glow 400 Rechargeable Headlamp",
    about: "Four hundred lumens for the trail, a red mode for the hut and a lock against \
            switching on in the pack.",
    attributes: &[("brightness", "400 lm"), ("protection", "IPX6"), ("weight", "78 g")],
    colours: &[],
};

pub(crate) const EMBER_LANTERN: Good = Good {
    key: "lumbrook/ember",
    brand: "Lumbrook",
    name: "Ember Folding Lantern",
    about: "Folds flat, hangs from a ridge line and dims down to candlelight for sixty hours.",
    attributes: &[("brightness", "5 to 300 lm"), ("power", "USB-C"), ("weight", "165 g")],
    colours: &[],
};

pub(crate) const RIDGE_DAYPACK: Good = Good {
    key: "skerrow/ridge-22",
    brand: "Skerrow",
    name: "Ridge 22 Daypack",
    about: "Twenty-two litres with a ventilated back, a rain cover in the base and pockets that \
            open while walking.",
    attributes: &[("volume", "22 L"), ("material", "recycled nylon"), ("weight", "780 g")],
    colours: &["Juniper", "Rust", "Storm"],
};

pub(crate) const TARN_STOVE: Good = Good {
    key: "cairnhollow/tarn",
    brand: "Cairnhollow",
    name: "Tarn Folding Gas Stove",
    about: "Boils half a litre in two and a half minutes and folds to the size of an egg.",
    attributes: &[("weight", "92 g"), ("material", "titanium"), ("power", "2.8 kW")],
    colours: &[],
};

pub(crate) const BROOK_BOTTLE: Good = Good {
    key: "driftmark/brook-600",
    brand: "Driftmark",
    name: "Brook Insulated Bottle, 600 ml",
    about: "Keeps ice for a day and tea for half of one. The lid comes apart completely for \
            washing.",
    attributes: &[("material", "stainless steel"), ("capacity", "600 ml"), ("weight", "330 g")],
    colours: &["Glacier", "Moss", "Sand"],
};

pub(crate) const CLEAR_FILTER: Good = Good {
    key: "driftmark/clear",
    brand: "Driftmark",
    name: "Clear Squeeze Water Filter",
    about: "Hollow-fibre filter for three thousand litres of stream water; backwashes with its \
            own pouch.",
    attributes: &[("weight", "71 g"), ("capacity", "1 L pouch")],
    colours: &[],
};

pub(crate) const MERINO_GAITER: Good = Good {
    key: "fellstrand/gaiter",
    brand: "Fellstrand",
    name: "Merino Neck Gaiter",
    about: "Seamless tube of fine merino, worn as scarf, cap or mask.",
    attributes: &[("material", "merino wool"), ("weight", "52 g")],
    colours: &["Bracken", "Ink", "Oat"],
};

pub(crate) const DOT_NOTEBOOK: Good = Good {
    key: "quillhaven/dot-a5",
    brand: "Quillhaven",
    name: "Dot Grid Notebook, A5",
    about: "Numbered pages of 100 g paper that takes fountain pen ink, two ribbons and a pocket \
            at the back.",
    attributes: &[("size", "A5"), ("pages", "192"), ("paper", "100 g, dot grid")],
    colours: &["Night Blue", "Terracotta", "Forest"],
};

pub(crate) const ROOK_PEN: Good = Good {
    key: "inkmere/rook",
    brand: "Inkmere",
    name: "Rook Fountain Pen",
    about: "Slim resin pen with a steel nib that writes after a week uncapped. Comes with a \
            converter.",
    attributes: &[("material", "resin"), ("nib", "steel"), ("weight", "19 g")],
    colours: &["Black", "Oxblood"],
};

pub(crate) const TIDE_INK: Good = Good {
    key: "inkmere/tide-50",
    brand: "Inkmere",
    name: "Tidepool Ink, 50 ml",
    about: "A blue-green with a little shading, gentle to pens and quick to dry.",
    attributes: &[("capacity", "50 ml"), ("base", "water")],
    colours: &[],
};

pub(crate) const WEEK_PLANNER: Good = Good {
    key: "papermoth/week",
    brand: "Papermoth",
    name: "Undated Week Planner",
    about: "One week on two pages, a column for what did not fit and no dates, so a skipped \
            month costs nothing.",
    attributes: &[("size", "B6"), ("pages", "160"), ("paper", "90 g")],
    colours: &["Plum", "Kraft"],
};

pub(crate) const PENCIL_TIN: Good = Good {
    key: "quillhaven/pencils-24",
    brand: "Quillhaven",
    name: "Coloured Pencils, Tin of 24",
    about: "Break-resistant leads in cedar, with the colour name on every pencil.",
    attributes: &[("material", "cedar"), ("quantity", "24")],
    colours: &[],
};

pub(crate) const HOUSE_BLOCKS: Good = Good {
    key: "tumblewren/blocks-50",
    brand: "Tumblewren",
    name: "Village Building Blocks, 50 Pieces",
    about: "Beech arches, roofs and pillars in a cotton sack. Water-based colours, corners \
            rounded by hand.",
    attributes: &[("material", "beech"), ("age", "2+"), ("quantity", "50")],
    colours: &[],
};

pub(crate) const MOON_PUZZLE: Good = Good {
    key: "oddacre/moon-1000",
    brand: "Oddacre",
    name: "Night Harbour Jigsaw, 1,000 Pieces",
    about: "An etched harbour under a full moon, cut so that no two pieces are alike.",
    attributes: &[("quantity", "1000"), ("size", "68 x 48 cm"), ("material", "recycled board")],
    colours: &[],
};

pub(crate) const FOX_GAME: Good = Good {
    key: "oddacre/nine-foxes",
    brand: "Oddacre",
    name: "Nine Foxes Card Game",
    about: "A bluffing game for two to five that fits in a coat pocket and takes twenty minutes.",
    attributes: &[("players", "2-5"), ("age", "8+"), ("duration", "20 min")],
    colours: &[],
};

pub(crate) const SPIN_MULTITOOL: Good = Good {
    key: "spindrake/fold-14",
    brand: "Spindrake",
    name: "Fold 14 Bicycle Multitool",
    about: "Fourteen tools including a chain breaker, each replaceable with one screw.",
    attributes: &[("weight", "148 g"), ("material", "tool steel")],
    colours: &[],
};

pub(crate) const BEAM_LIGHTS: Good = Good {
    key: "spindrake/beam-set",
    brand: "Spindrake",
    name: "Beam Rechargeable Light Set",
    about: "Front and rear light with side windows and a strap that fits aero bars too.",
    attributes: &[("brightness", "350/60 lm"), ("power", "USB-C"), ("protection", "IPX5")],
    colours: &[],
};

pub(crate) const MINI_PUMP: Good = Good {
    key: "spindrake/breath",
    brand: "Spindrake",
    name: "Breath Mini Pump",
    about: "Reaches six bar with a hose that spares the valve. Bracket for the bottle cage \
            included.",
    attributes: &[("weight", "126 g"), ("material", "aluminium"), ("pressure", "6 bar")],
    colours: &[],
};

pub(crate) const SUN_STICK: Good = Good {
    key: "solmarrow/stick-50",
    brand: "Solmarrow",
    name: "Mineral Sun Stick SPF 50",
    about: "Zinc oxide in a paper tube, unscented and without white streaks.",
    attributes: &[("capacity", "20 g"), ("protection", "SPF 50")],
    colours: &[],
};

pub(crate) const BALM: Good = Good {
    key: "solmarrow/balm",
    brand: "Solmarrow",
    name: "Beeswax Lip Balm, 8 g",
    about: "Beeswax, shea and nothing that smells. In a tin that opens with cold fingers.",
    attributes: &[("capacity", "8 g")],
    colours: &[],
};
