//! Linen, light, bath, garden and what the animals need.

use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;

pub(super) const LINES: &[Line] = &[
    Line {
        prefix: "LINEN",
        category: "home-kitchen/linens",
        brand: "Brindlewick",
        about: "Woven from European flax and washed once, so it does not shrink again.",
        attributes: &[("material", "linen")],
        items: &[
            item(101, "Washed Linen Duvet Cover", 14_900)
                .about("Buttoned at the foot, with ties in the corners.")
                .choose(&[axis("size", &["Single", "Double", "King"]).costing(&[0, 4000, 6000])])
                .colours(&["Oat", "Rain", "Rosewood"]),
            item(102, "Washed Linen Pillowcases, Pair", 4800)
                .about("Envelope backs, no buttons to sleep on.")
                .with(&[("size", "50 x 75 cm"), ("quantity", "2")])
                .colours(&["Oat", "Rain", "Rosewood"]),
            item(103, "Washed Linen Flat Sheet", 9600)
                .about("Generous enough to tuck in on three sides.")
                .choose(&[axis("size", &["Single", "Double", "King"]).costing(&[0, 2500, 4000])])
                .colours(&["Oat", "Rain"]),
            item(104, "Linen Napkins, Set of 4", 3600)
                .about("Mitred corners and a hand that gets softer.")
                .with(&[("size", "45 x 45 cm"), ("quantity", "4")])
                .colours(&["Oat", "Olive", "Ink"]),
            item(105, "Linen Tablecloth, 150 x 250 cm", 6400)
                .about("Seats eight and hides the scratches.")
                .with(&[("size", "150 x 250 cm")])
                .colours(&["Oat", "Ink"]),
            item(106, "Kitchen Towels, Set of 2", 2200)
                .about("Half linen, half cotton, fully absorbent.")
                .with(&[("material", "linen and cotton"), ("quantity", "2")])
                .colours(&["Blue Stripe", "Red Stripe"]),
            item(107, "Cross-Back Apron", 3400)
                .about("No strings at the neck; two pockets for clips and a towel.")
                .colours(&["Charcoal", "Oat"]),
        ],
        ..LINE
    },
    Line {
        prefix: "THROW",
        category: "home-kitchen/linens",
        brand: "Brindlewick",
        about: "Spun and woven in one mill.",
        attributes: &[("material", "lambswool")],
        items: &[
            item(151, "Herringbone Lambswool Throw", 11_800)
                .about("A warm weight for the end of the sofa, with a twisted fringe.")
                .with(&[("size", "140 x 190 cm")])
                .colours(&["Flint", "Heather", "Mustard"]),
            item(152, "Waffle Cotton Blanket", 7200)
                .about("Light enough for summer nights.")
                .with(&[("material", "cotton"), ("size", "150 x 200 cm")])
                .colours(&["White", "Sand"]),
            item(153, "Velvet Cushion Cover, 50 cm", 3900)
                .about("Cotton velvet with a concealed zip; filling sold separately.")
                .with(&[("material", "cotton"), ("size", "50 x 50 cm")])
                .colours(&["Moss", "Rust", "Ink"]),
            item(154, "Flatwoven Wool Rug, 120 x 180 cm", 16_500)
                .about("Reversible, with a pattern of quiet steps.")
                .with(&[("material", "wool"), ("size", "120 x 180 cm")])
                .colours(&["Clay", "Indigo"]),
        ],
        ..LINE
    },
    Line {
        prefix: "LAMP",
        category: "home-kitchen/lighting",
        brand: "Lumbrook",
        about: "Takes a standard E27 bulb; one is included.",
        attributes: &[("socket", "E27")],
        items: &[
            item(201, "Mushroom Table Lamp", 8900)
                .about("Opal glass on a turned base, with a dimmer on the cord.")
                .with(&[("material", "glass and oak"), ("height", "34 cm")])
                .colours(&["Opal", "Amber"]),
            item(202, "Reading Floor Lamp", 13_800)
                .about(
                    "A hinged arm that stays where it is put and a shade that keeps the light \
                     off the ceiling.",
                )
                .with(&[("material", "steel"), ("height", "145 cm")])
                .colours(&["Black", "Olive"]),
            item(203, "Paper Pendant, 45 cm", 7400)
                .about("Folded from a single sheet of washi over a bamboo ring.")
                .with(&[("material", "paper"), ("size", "45 cm")]),
            item(204, "Clip-On Task Lamp", 4900)
                .about("Holds to a shelf, a headboard or an easel.")
                .with(&[("material", "steel"), ("height", "28 cm")])
                .colours(&["Brick", "White", "Black"]),
        ],
        ..LINE
    },
    Line {
        prefix: "BULB",
        category: "home-kitchen/lighting",
        brand: "Lumbrook",
        about: "Packed in cardboard only.",
        items: &[
            item(205, "Warm Dim Bulb, E27", 1295)
                .about("Turns warmer as it dims, from 2700 down to 2000 K.")
                .with(&[("power", "8 W"), ("brightness", "806 lm")]),
            sold(shared::EMBER_LANTERN, 211, 4400),
        ],
        ..LINE
    },
    Line {
        prefix: "CANDLE",
        category: "home-kitchen/decor",
        brand: "Cindervale",
        about: "Burns for about forty-five hours; the glass is made to be kept.",
        attributes: &[("material", "soy wax"), ("weight", "220 g")],
        items: &[
            item(251, "Woodsmoke and Fig Candle", 2800)
                .about("Green fig, cedar and the last of a campfire."),
            item(252, "Sea Lavender Candle", 2800).about("Salt, lavender and a little driftwood."),
            item(253, "Orange Peel and Clove Candle", 2800)
                .about("For December, and for people who want December sooner."),
        ],
        ..LINE
    },
    Line {
        prefix: "DECOR",
        category: "home-kitchen/decor",
        brand: "Cindervale",
        about: "Made in batches of a few hundred.",
        items: &[
            item(254, "Beeswax Tapers, Pair", 1800)
                .about("Hand-dipped, unscented, 25 cm tall.")
                .with(&[("material", "beeswax"), ("quantity", "2"), ("length", "25 cm")])
                .colours(&["Natural", "Ivory"]),
            item(255, "Bud Vases, Set of 3", 4200)
                .about("Three small bottles for three single stems.")
                .with(&[("material", "glass"), ("quantity", "3")]),
            item(256, "Oak Picture Ledge, 60 cm", 3650)
                .about("A shallow shelf with a lip, hidden fixings and a level in the box.")
                .with(&[("material", "oak"), ("length", "60 cm")]),
        ],
        ..LINE
    },
    Line {
        prefix: "BATH",
        category: "bath/towels",
        brand: "Saltmeadow",
        about: "Certified organic cotton, hemmed twice.",
        attributes: &[("material", "organic cotton")],
        items: &[
            item(301, "Ribbed Bath Towel", 3400)
                .about("Six hundred grams per square metre, yet dry by morning.")
                .with(&[("size", "70 x 140 cm")])
                .colours(&["White", "Sage", "Clay"]),
            item(302, "Ribbed Hand Towel", 1800)
                .about("The same cloth in the size that is always missing.")
                .with(&[("size", "50 x 80 cm")])
                .colours(&["White", "Sage", "Clay"]),
            item(303, "Bath Mat, 50 x 80 cm", 4200)
                .about("Thick loops and no rubber underneath to peel.")
                .with(&[("size", "50 x 80 cm")])
                .colours(&["White", "Sage"]),
            item(304, "Waffle Bathrobe", 8800)
                .about("Deep pockets, a shawl collar and a loop that holds.")
                .choose(&[axis("size", &["S/M", "L/XL"])])
                .colours(&["White", "Slate"]),
        ],
        ..LINE
    },
    Line {
        prefix: "SOAP",
        category: "bath/care",
        brand: "Saltmeadow",
        about: "Cold-processed and cured for six weeks.",
        attributes: &[("weight", "110 g")],
        items: &[
            item(351, "Oat and Honey Soap Bar", 950)
                .about("Mild enough for faces, with ground oats for the rest."),
            item(352, "Rosemary and Mint Soap Bar", 950).about("For waking up."),
            item(353, "Unscented Soap Bar", 950).about("Olive oil, water, lye and time."),
        ],
        ..LINE
    },
    Line {
        prefix: "CARE",
        category: "bath/care",
        brand: "Saltmeadow",
        about: "Made next to the soap kitchen.",
        items: &[
            item(354, "Refillable Hand Wash, 500 ml", 2400)
                .about("Bergamot and vetiver in a glass bottle with a pump that lasts.")
                .with(&[("capacity", "500 ml")])
                .choose(&[axis("fill", &["Bottle", "Refill pouch"])]),
            item(355, "Cedar Soap Dish", 1400)
                .about("Slatted so the bar can dry.")
                .with(&[("material", "cedar")]),
            sold(shared::SUN_STICK, 361, 1650),
        ],
        ..LINE
    },
    Line {
        prefix: "CLEAN",
        category: "home-kitchen/cleaning",
        brand: "Fennimoor",
        about: "Nothing that cannot be composted or recycled.",
        attributes: &[("material", "wood and plant fibre")],
        items: &[
            item(401, "Dish Brush with Two Heads", 1450)
                .about("Beech handle, tampico bristles, a spare head in the box.")
                .with(&[("quantity", "2")]),
            item(402, "Long-Handled Broom", 3800)
                .about("Horsehair for smooth floors, with a stick for tall people.")
                .with(&[("length", "140 cm")]),
            item(403, "Dustpan and Brush", 1600)
                .about("Powder-coated steel with a rubber lip.")
                .with(&[("material", "steel and beech")])
                .colours(&["Slate", "Butter"]),
            item(404, "Swedish Dishcloths, Set of 4", 1100)
                .about("Each replaces seventeen rolls of paper and dries flat.")
                .with(&[("material", "cellulose"), ("quantity", "4")])
                .colours(&["Leaves", "Lines"]),
            item(405, "Laundry Basket, Foldable", 2650)
                .about("Cotton canvas on an ash frame that folds against the wall.")
                .with(&[("material", "canvas and ash"), ("volume", "60 L")]),
        ],
        ..LINE
    },
    Line {
        prefix: "GROW",
        category: "garden/tools",
        brand: "Thornbeck",
        about: "Forged, not stamped, with an ash handle that can be replaced.",
        attributes: &[("material", "carbon steel and ash")],
        items: &[
            item(451, "Hand Trowel", 2400)
                .about("A narrow blade marked in centimetres for bulbs.")
                .with(&[("weight", "260 g")]),
            item(452, "Hand Fork", 2400)
                .about("Three square tines that do not bend in clay.")
                .with(&[("weight", "280 g")]),
            item(453, "Bypass Secateurs", 4600)
                .about("Replaceable blades, a lock for one thumb and a groove that clears sap.")
                .with(&[("weight", "235 g")]),
        ],
        ..LINE
    },
    Line {
        prefix: "PLANT",
        category: "garden/pots",
        brand: "Thornbeck",
        about: "For balconies as much as for gardens.",
        items: &[
            item(454, "Watering Can, 5 L", 3995)
                .about("A long spout that balances full or empty, with a brass rose.")
                .with(&[("material", "galvanised steel"), ("capacity", "5 L")])
                .colours(&["Zinc", "Green"]),
            item(455, "Terracotta Pots with Saucers, Set of 3", 3200)
                .about("Ten, thirteen and sixteen centimetres.")
                .with(&[("material", "terracotta"), ("quantity", "3")]),
            item(456, "Windowsill Herb Kit", 1950)
                .about("Basil, chives and parsley with peat-free soil and zinc pots.")
                .with(&[("quantity", "3")]),
        ],
        ..LINE
    },
    Line {
        prefix: "PET",
        category: "pets",
        brand: "Waggonbury",
        about: "Tried out by the two dogs and the cat of our warehouse.",
        attributes: &[("material", "canvas")],
        items: &[
            item(501, "Orthopaedic Dog Bed", 7800)
                .about("Two layers of foam under a cover that unzips on three sides.")
                .choose(&[axis("size", &["M", "L", "XL"]).costing(&[0, 2200, 4500])])
                .colours(&["Moss", "Slate"]),
            item(502, "Rope and Leather Dog Lead", 2900)
                .about("Climbing rope spliced, not stitched, with a brass hook.")
                .with(&[("material", "rope and leather"), ("length", "1.6 m")])
                .colours(&["Rust", "Ink"]),
            item(503, "Slow Feeder Bowl", 2250)
                .about("A maze that turns one minute of dinner into eight.")
                .with(&[("material", "ceramic"), ("capacity", "0.7 L")])
                .colours(&["Cream", "Teal"]),
            item(504, "Felt Cat Cave", 6400)
                .about("Felted from one piece of wool, without glue or seams.")
                .with(&[("material", "wool"), ("size", "45 cm")])
                .colours(&["Grey", "Ochre"]),
            item(505, "Catnip Mice, Set of 3", 1295)
                .about("Stuffed with organic catnip and a rattle.")
                .with(&[("material", "wool"), ("quantity", "3")]),
        ],
        ..LINE
    },
];
