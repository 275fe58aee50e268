//! Paper, pens, desks and games.

use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;

pub(super) const LINES: &[Line] = &[
    Line {
        prefix: "NOTE",
        category: "stationery/notebooks",
        brand: "Quillhaven",
        about: "Sewn so that it lies flat on every page.",
        attributes: &[("paper", "100 g")],
        items: &[
            sold(shared::DOT_NOTEBOOK, 101, 2200),
            item(102, "Ruled Notebook, A5", 2200)
                .about("Seven-millimetre lines that stop short of the edge.")
                .with(&[("size", "A5"), ("pages", "192")])
                .colours(&["Night Blue", "Terracotta", "Forest"]),
            item(103, "Hardcover Sketchbook, A4", 2600)
                .about("Cartridge paper with a tooth, for pencil, ink and light washes.")
                .with(&[("size", "A4"), ("pages", "96"), ("paper", "160 g")])
                .colours(&["Black", "Kraft"]),
            item(104, "Pocket Notebooks, Set of 3", 1450)
                .about("Thin enough for a shirt, stitched in red.")
                .with(&[("size", "9 x 14 cm"), ("pages", "48"), ("quantity", "3")])
                .colours(&["Kraft", "Mixed"]),
            item(105, "Reporter's Pad, Leather Cover", 3200)
                .about("The cover stays, the pads are replaced.")
                .with(&[("material", "vegetable-tanned leather"), ("size", "A6")])
                .colours(&["Tan", "Black"]),
            item(106, "Five-Year Diary", 2800)
                .about("Five lines a day; by the third year it starts to talk back.")
                .with(&[("size", "B6"), ("pages", "368")]),
            item(107, "Recipe Journal", 1800)
                .about("A page for the recipe, a margin for what went wrong.")
                .with(&[("size", "A5"), ("pages", "160")]),
        ],
        ..LINE
    },
    Line {
        prefix: "PEN",
        category: "stationery/pens",
        brand: "Inkmere",
        about: "Refills are standard sizes, ours or anyone's.",
        attributes: &[("ink", "black")],
        items: &[
            sold(shared::ROOK_PEN, 201, 4800),
            sold(shared::TIDE_INK, 202, 1700),
            item(203, "Brass Rollerball", 2900)
                .about("Turned from one bar; it darkens where it is held.")
                .with(&[("material", "brass"), ("weight", "42 g")]),
            item(204, "Mechanical Pencil, 0.7 mm", 1650)
                .about("Hexagonal, brass inside, with an eraser that can be replaced.")
                .with(&[("material", "brass and resin"), ("ink", "graphite")])
                .colours(&["Black", "Cream", "Brick"]),
            sold(shared::PENCIL_TIN, 208, 2900),
            item(209, "Rook Fountain Pen, Gold Trim", 6400)
                .about("The same pen with a softer nib and a gold ring.")
                .with(&[("material", "resin"), ("trim", "gold plated")])
                .choose(&[axis("nib", &["Fine", "Medium", "Broad"])]),
        ],
        ..LINE
    },
    Line {
        prefix: "DRAW",
        category: "stationery/pens",
        brand: "Inkmere",
        about: "Lightfast for fifty years, by our own window test.",
        items: &[
            item(205, "Fineliners, Set of 6", 1200)
                .about("From a hair to a millimetre, waterproof once dry.")
                .with(&[("quantity", "6")]),
            item(206, "Brush Pens, Set of 10", 2450)
                .about("Soft tips in the colours of a hedgerow.")
                .with(&[("quantity", "10"), ("ink", "water-based colours")]),
            item(207, "Graphite Pencils, Box of 12", 995)
                .about("Cedar, from 4B to 2H, with the grade on every side.")
                .with(&[("quantity", "12"), ("material", "cedar"), ("ink", "graphite")]),
        ],
        ..LINE
    },
    Line {
        prefix: "PLAN",
        category: "stationery/planners",
        brand: "Papermoth",
        about: "Printed with vegetable inks in one small press.",
        attributes: &[("paper", "90 g")],
        items: &[
            sold(shared::WEEK_PLANNER, 301, 2400),
            item(302, "Wall Calendar, A3", 1950)
                .about("Twelve linocuts of twelve shorelines.")
                .with(&[("size", "A3")])
                .preorder(),
            item(303, "Daily Desk Pad, 60 Sheets", 1600)
                .about("Three things that matter, ten that do not.")
                .with(&[("size", "A5"), ("pages", "60")])
                .colours(&["Sage", "Plum"]),
            item(304, "Habit Cards, Set of 12", 1250)
                .about("One card a month and a brass paper clip.")
                .with(&[("size", "A6"), ("quantity", "12")]),
            item(305, "Project Planner", 3400)
                .about("Goals, weeks and a page per milestone for a hundred days.")
                .with(&[("size", "A5"), ("pages", "224")])
                .colours(&["Plum", "Kraft"]),
        ],
        ..LINE
    },
    Line {
        prefix: "TRAY",
        category: "stationery/desk",
        brand: "Tarnwick",
        about: "Made in small runs and finished by hand.",
        attributes: &[("material", "oak")],
        items: &[
            item(401, "Desk Tray with Dividers", 4900)
                .about("Room for pens, clips and a cup.")
                .with(&[("size", "32 x 20 cm")])
                .colours(&["Natural", "Smoked"]),
            item(402, "Monitor Riser", 3600)
                .about("A plain shelf that clears space for a keyboard.")
                .with(&[("size", "60 x 22 cm"), ("maximum load", "20 kg")])
                .colours(&["Natural", "Smoked"]),
            item(403, "Brass Tape Dispenser", 2850)
                .about("Heavy enough to use with one hand.")
                .with(&[("material", "brass"), ("weight", "780 g")]),
            item(404, "Letter Opener", 2200)
                .about("Filed from spring steel with an oak handle.")
                .with(&[("length", "21 cm"), ("material", "steel and oak")]),
            item(405, "Cork Pinboard, 60 x 40 cm", 1800)
                .about("Dense cork in a thin frame, with twelve brass pins.")
                .with(&[("material", "cork and oak"), ("size", "60 x 40 cm")]),
            item(406, "Magazine Files, Pair", 5800)
                .about("Bent plywood with a finger hole.")
                .with(&[("material", "birch plywood"), ("quantity", "2")])
                .discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "POST",
        category: "stationery/cards",
        brand: "Papermoth",
        about: "Cotton paper with a deckled edge.",
        attributes: &[("paper", "cotton, 300 g")],
        items: &[
            item(451, "Letterpress Thank-You Cards, Set of 8", 1600)
                .about("Pressed deep enough to feel in the dark.")
                .with(&[("quantity", "8"), ("size", "A6")])
                .colours(&["Ink", "Moss"]),
            item(452, "Writing Paper and Envelopes", 1850)
                .about("Twenty sheets and ten lined envelopes in a box.")
                .with(&[("quantity", "20"), ("size", "A5")])
                .colours(&["Ivory", "Grey"]),
        ],
        ..LINE
    },
    Line {
        prefix: "WRAP",
        category: "stationery/cards",
        brand: "Papermoth",
        about: "Made without plastic film or glitter.",
        items: &[
            item(453, "Wrapping Paper, 4 Sheets", 1200)
                .about("Block-printed with pears, herons, waves and stars.")
                .with(&[("quantity", "4"), ("size", "50 x 70 cm")]),
            item(454, "Wax Seal Sticks, Set of 3", 950)
                .about("Flexible wax that survives the post.")
                .with(&[("quantity", "3")])
                .colours(&["Oxblood", "Ink"]),
        ],
        ..LINE
    },
    Line {
        prefix: "PLAY",
        category: "toys-games",
        brand: "Oddacre",
        about: "Packed without plastic.",
        attributes: &[("material", "board and paper")],
        items: &[
            sold(shared::MOON_PUZZLE, 501, 3200),
            sold(shared::FOX_GAME, 502, 1800),
            item(503, "Cartographers of Fog", 4400)
                .about("A cooperative game about mapping islands that move.")
                .with(&[("players", "1-4"), ("age", "10+"), ("duration", "60 min")]),
            item(504, "Wooden Four in a Row", 2950)
                .about("A table version in beech, with a bar that drops the counters.")
                .with(&[("material", "beech"), ("players", "2"), ("age", "5+")]),
            sold(shared::HOUSE_BLOCKS, 505, 3900),
            item(506, "Travel Backgammon, Roll-Up", 3400)
                .about("Canvas and leather with counters of stone.")
                .with(&[("material", "canvas and leather"), ("players", "2")]),
            item(507, "Paper Planets Mobile Kit", 2400)
                .about("Eight planets to press out, fold and hang.")
                .with(&[("age", "8+"), ("quantity", "8")]),
        ],
        ..LINE
    },
];
