//! Coffee, tea, cookware and the table.

use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;

pub(super) const LINES: &[Line] = &[
    Line {
        prefix: "POUR",
        category: "home-kitchen/coffee",
        brand: "Ottermoor",
        about: "Part of a set that can be bought piece by piece.",
        attributes: &[("material", "borosilicate glass")],
        items: &[
            item(101, "Tidewater Pour-Over Coffee Set", 5800)
                .about(
                    "A hand-blown carafe with a steel mesh dripper, a wooden collar and a \
                     leather tie. Brews two to four cups without paper.",
                )
                .with(&[("capacity", "600 ml"), ("weight", "720 g")])
                .choose(&[
                    axis("size", &["600 ml", "900 ml"]).costing(&[0, 1200]),
                    axis("collar", &["Walnut", "Ash"]),
                ])
                .always_there(),
            item(102, "Tidewater Glass Carafe, 600 ml", 3200)
                .about(
                    "The carafe on its own, with a spout that does not dribble and a scale \
                     etched in hundreds of millilitres.",
                )
                .with(&[("capacity", "600 ml")]),
            item(103, "Tidewater Stoneware Dripper", 2450)
                .about(
                    "A ribbed cone for No. 2 filters, thick enough to keep its heat through a \
                     slow brew.",
                )
                .with(&[("material", "stoneware")])
                .colours(&["Chalk", "Tidal Blue", "Soot"]),
            item(104, "Steel Mesh Cone", 1995)
                .about("Two layers of laser-cut mesh replace about a thousand paper filters.")
                .with(&[("material", "stainless steel"), ("weight", "110 g")]),
            item(105, "Eight-Cup Brewing Flask", 4600)
                .about("One-piece flask in the shape of an hourglass for long breakfasts.")
                .with(&[("capacity", "1.2 L")]),
            sold(shared::HERON_KETTLE, 111, 9400),
            sold(shared::WREN_GRINDER, 112, 7900),
            sold(shared::DIPPER_SCALE, 113, 4995),
            sold(shared::BITTERN_PRESS, 114, 6200),
            sold(shared::PAPER_FILTERS, 115, 895),
            sold(shared::SANDPIPER_PRESS, 116, 3600),
        ],
        ..LINE
    },
    Line {
        prefix: "MOKA",
        category: "home-kitchen/coffee",
        brand: "Pellworth",
        about: "Works on gas, electric and, with the steel base, induction.",
        attributes: &[("material", "aluminium")],
        items: &[
            item(201, "Stovetop Moka Pot, 3 Cups", 3495)
                .about("Octagonal pot with a cool wooden grip and a valve that can be taken apart.")
                .with(&[("capacity", "150 ml")])
                .colours(&["Polished", "Sage", "Black"]),
            item(202, "Stovetop Moka Pot, 6 Cups", 4295)
                .about("The family size of our stovetop pot, with the same valve and seals.")
                .with(&[("capacity", "300 ml")])
                .colours(&["Polished", "Sage", "Black"]),
            item(203, "Steel Induction Moka Pot, 6 Cups", 6400)
                .about("Brushed steel from base to lid, for induction hobs.")
                .with(&[("material", "stainless steel"), ("capacity", "300 ml")]),
        ],
        ..LINE
    },
    Line {
        prefix: "BREW",
        category: "home-kitchen/coffee",
        brand: "Pellworth",
        about: "Takes up no more room than a mug.",
        attributes: &[("material", "steel")],
        items: &[
            item(204, "Hand Milk Frother", 2150)
                .about("Whisks warm milk to foam in twenty seconds and charges over USB-C.")
                .with(&[("material", "stainless steel"), ("power", "USB-C")]),
            item(205, "Coffee Canister, 500 g", 1250)
                .about("An airtight tin with a one-way valve and a measuring spoon in the lid.")
                .with(&[("material", "steel"), ("capacity", "500 g")])
                .colours(&["Cream", "Forest"]),
        ],
        ..LINE
    },
    Line {
        prefix: "BEAN",
        category: "home-kitchen/coffee",
        brand: "Kettlebird",
        about: "Roasted to order on Tuesdays and Thursdays and packed the same day.",
        attributes: &[("origin", "Colombia")],
        axes: &[
            axis("size", &["12 oz", "2 lb"]).costing(&[0, 2200]),
            axis("grind", &["Whole bean", "Filter", "Espresso"]),
        ],
        items: &[
            item(301, "Daybreak House Blend", 1750)
                .about(
                    "Milk chocolate, roasted almond and a mild finish that forgives a careless \
                     brew.",
                )
                .with(&[("roast", "medium"), ("origin", "Colombia and Brazil")]),
            item(302, "Porchlight Decaf", 1900)
                .about("Decaffeinated with sugar cane; caramel, red apple, no flat aftertaste.")
                .with(&[("roast", "medium")]),
            item(303, "High Orchard Single Origin", 2100)
                .about("Washed lots from three farms near Huila: mandarin, honey, black tea.")
                .with(&[("roast", "light")]),
            item(304, "Cinder Espresso", 1800)
                .about("Dark sugar and cocoa, built for milk.")
                .with(&[("roast", "dark"), ("origin", "Brazil and Guatemala")]),
        ],
        ..LINE
    },
    Line {
        prefix: "TEA",
        category: "home-kitchen/tea",
        brand: "Marlowfen",
        about: "Loose leaf in a tin that can be refilled.",
        attributes: &[("weight", "100 g")],
        items: &[
            item(401, "Hedgerow Breakfast Black Tea", 1450)
                .about("A brisk blend of Assam and Kenyan leaf that stands up to milk.")
                .with(&[("origin", "India and Kenya")]),
            item(402, "First Frost Earl Grey", 1600)
                .about("Ceylon leaf with cold-pressed bergamot and cornflower.")
                .with(&[("origin", "Sri Lanka")]),
            item(403, "Cloud Terrace Green Tea", 1850)
                .about("Spring leaves, pan-fired by hand, sweet and a little grassy.")
                .with(&[("origin", "China")]),
            item(404, "Slow Evening Herbal Infusion", 1300)
                .about("Chamomile, lemon balm and apple; no caffeine.")
                .with(&[("origin", "Germany")]),
            item(405, "Ceremonial Matcha, 40 g", 2800)
                .about("First harvest, stone-milled in small lots and sealed under nitrogen.")
                .with(&[("weight", "40 g"), ("origin", "Japan")]),
        ],
        ..LINE
    },
    Line {
        prefix: "TPOT",
        category: "home-kitchen/tea",
        brand: "Marlowfen",
        about: "Spare strainers and lids are always in stock.",
        items: &[
            item(406, "Cast Iron Teapot, 0.8 L", 4400)
                .about(
                    "Enamelled inside, so it does not rust or hold on to flavours. Comes with a \
                     steel strainer.",
                )
                .with(&[("material", "cast iron"), ("capacity", "0.8 L"), ("weight", "1.6 kg")])
                .colours(&["Black", "Moss"]),
            item(407, "Glass Teapot with Infuser, 1 L", 2650)
                .about("See the leaves open and stop them with a press.")
                .with(&[("material", "borosilicate glass"), ("capacity", "1 L")]),
        ],
        ..LINE
    },
    Line {
        prefix: "COOK",
        category: "home-kitchen/cookware",
        brand: "Pellworth",
        about: "Safe in the oven to 260 °C and guaranteed for twenty-five years.",
        attributes: &[("compatible", "gas, electric, induction")],
        items: &[
            item(501, "Carbon Steel Frying Pan", 4800)
                .about("Pre-seasoned, lighter than cast iron and slicker with every egg.")
                .with(&[("material", "carbon steel")])
                .choose(
                    &[axis("diameter", &["20 cm", "24 cm", "28 cm"]).costing(&[0, 1000, 2200])],
                ),
            item(502, "Enamelled Casserole, 4.5 L", 12_900)
                .about(
                    "Thick walls for bread and braises, a lid that drips evenly and handles that \
                     fit oven gloves.",
                )
                .with(&[("material", "cast iron"), ("capacity", "4.5 L"), ("weight", "5.1 kg")])
                .colours(&["Brick", "Fennel", "Ink"]),
            item(503, "Three-Ply Saucepan, 2 L", 8400)
                .about("Heats evenly up the sides; the rim pours from any angle.")
                .with(&[("material", "stainless steel"), ("capacity", "2 L")]),
            item(504, "Three-Ply Stockpot, 7 L", 11_200)
                .about("Room for a whole chicken and the patience to simmer it.")
                .with(&[("material", "stainless steel"), ("capacity", "7 L")]),
            item(505, "Griddle Pan, 26 cm", 3995)
                .about("High ridges, a pouring lip on each side and a handle that folds.")
                .with(&[("material", "cast iron"), ("weight", "2.4 kg")]),
            item(506, "Ceramic Non-Stick Skillet", 7200)
                .about("Mineral coating without fluorine compounds, for pancakes and fish.")
                .with(&[("material", "aluminium")])
                .choose(&[axis("diameter", &["24 cm", "28 cm"]).costing(&[0, 1200])]),
            item(507, "Steel Wok, 32 cm", 3400)
                .about("Hand-hammered with a flat bottom of twelve centimetres.")
                .with(&[("material", "carbon steel"), ("weight", "1.5 kg")]),
            item(508, "Starter Set of Five Pans", 18_900)
                .about("Two saucepans, a frying pan, a stockpot and a lid that fits three of them.")
                .with(&[("material", "stainless steel"), ("quantity", "5")]),
            item(509, "Splatter Lid, 28 cm", 2750)
                .about("Fine mesh that keeps the hob clean and rests on its own feet.")
                .with(&[("material", "stainless steel")])
                .discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "BAKE",
        category: "home-kitchen/cookware",
        brand: "Pellworth",
        about: "Made to be used weekly and to last decades.",
        attributes: &[("material", "aluminised steel")],
        items: &[
            item(551, "Loaf Tin, 2 lb", 2295)
                .about("Folded corners and a silicone-free coating that releases without paper.")
                .with(&[("capacity", "900 g")]),
            item(552, "Half-Sheet Baking Tray, Set of 2", 2600)
                .about("Rolled rims stiffened with wire; they stay flat at 230 °C.")
                .with(&[("size", "46 x 33 cm"), ("quantity", "2")]),
            item(553, "Springform Tin, 24 cm", 1950)
                .about("Leakproof base with a rim wide enough to lift by.")
                .with(&[("size", "24 cm")]),
            item(554, "Proving Basket with Linen Liner", 3100)
                .about("Rattan coiled by hand, for loaves of up to a kilogram.")
                .with(&[("material", "rattan"), ("size", "25 cm")]),
        ],
        ..LINE
    },
    Line {
        prefix: "KNIFE",
        category: "home-kitchen/knives",
        brand: "Tarnwick",
        about: "Made in a workshop of nine people and guaranteed for life.",
        attributes: &[("material", "X50 steel")],
        items: &[
            item(601, "Chef's Knife, 20 cm", 8900)
                .about(
                    "The one to own if it is the only one: a slight belly, a full tang, a \
                     balanced bolster.",
                )
                .with(&[("length", "20 cm"), ("weight", "214 g")])
                .choose(&[axis("handle", &["Walnut", "Olive"]).costing(&[0, 600])]),
            item(602, "Santoku, 17 cm", 6800)
                .about("A flatter blade with dimples that let go of potatoes.")
                .with(&[("length", "17 cm")])
                .choose(&[axis("handle", &["Walnut", "Olive"]).costing(&[0, 600])]),
            item(603, "Paring Knife, 9 cm", 3400)
                .about("For the work done in the hand.")
                .with(&[("length", "9 cm")])
                .choose(&[axis("handle", &["Walnut", "Olive"]).costing(&[0, 400])]),
            item(604, "Bread Knife, 24 cm", 5800)
                .about("Wide serrations that cut crust without tearing the crumb.")
                .with(&[("length", "24 cm")]),
            item(605, "Whetstone 1000/3000", 4200)
                .about("Two grits on one block with a bamboo stand that does not slide.")
                .with(&[("material", "corundum"), ("grit", "1000/3000")]),
            item(606, "End-Grain Cutting Board", 5400)
                .about(
                    "Maple blocks glued upright, kind to edges, with a juice groove on one side.",
                )
                .with(&[("material", "maple"), ("size", "40 x 28 cm"), ("weight", "3.1 kg")]),
            item(607, "Magnetic Knife Bar, 45 cm", 4650)
                .about("Oak with hidden magnets; holds six knives.")
                .with(&[("material", "oak"), ("length", "45 cm")])
                .colours(&["Natural", "Smoked"]),
        ],
        ..LINE
    },
    Line {
        prefix: "TABLE",
        category: "home-kitchen/tableware",
        brand: "Kilnmarrow",
        about: "Fired twice; safe in the dishwasher and the microwave.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(701, "Orchard Dinner Plates, Set of 4", 7200)
                .about("Twenty-seven centimetres with a low rim and an unglazed foot.")
                .with(&[("size", "27 cm"), ("quantity", "4")])
                .colours(&["Oat", "Slate", "Celadon"]),
            item(702, "Orchard Pasta Bowls, Set of 4", 5600)
                .about("Shallow and wide, for pasta, salad and soup with things in it.")
                .with(&[("size", "23 cm"), ("quantity", "4")])
                .colours(&["Oat", "Slate", "Celadon"]),
            item(703, "Orchard Mugs, Set of 4", 4400)
                .about("Three hundred and twenty millilitres with a handle for three fingers.")
                .with(&[("capacity", "320 ml"), ("quantity", "4")])
                .colours(&["Oat", "Slate", "Celadon"]),
            item(704, "Orchard Serving Platter", 3800)
                .about("An oval for a roast or a very long fish.")
                .with(&[("size", "41 x 27 cm")])
                .colours(&["Oat", "Slate"]),
            item(705, "Tasting Bowls, Set of 6", 2950)
                .about("For olives, sauces, salt and everything that needs its own bowl.")
                .with(&[("size", "9 cm"), ("quantity", "6")]),
        ],
        ..LINE
    },
    Line {
        prefix: "GLASS",
        category: "home-kitchen/tableware",
        brand: "Kilnmarrow",
        about: "Safe in the dishwasher, also the restaurant kind.",
        items: &[
            item(706, "Flatware Set, 16 Pieces", 6400)
                .about("Matte steel with a slim neck and some weight at the end.")
                .with(&[("material", "18/10 steel"), ("quantity", "16")])
                .colours(&["Steel", "Black"]),
            item(707, "Recycled Tumblers, Set of 6", 3900)
                .about("Pressed from bottle glass, each with a bubble or two.")
                .with(&[("material", "recycled glass"), ("capacity", "280 ml"), ("quantity", "6")])
                .colours(&["Clear", "Smoke", "Green"]),
            item(708, "Stemless Wine Glasses, Set of 4", 4800)
                .about("Thin rims that do not feel fragile.")
                .with(&[("material", "crystal glass"), ("capacity", "450 ml"), ("quantity", "4")]),
            item(709, "Water Jug, 1.3 L", 3300)
                .about("A wide mouth for ice and a lip that stops on command.")
                .with(&[("material", "recycled glass"), ("capacity", "1.3 L")]),
        ],
        ..LINE
    },
    Line {
        prefix: "STORE",
        category: "home-kitchen/storage",
        brand: "Fennimoor",
        about: "Made to replace a drawer of plastic.",
        attributes: &[("material", "glass")],
        items: &[
            item(801, "Glass Food Containers, Set of 5", 3800)
                .about("Nesting boxes with clip lids that go from freezer to oven without them.")
                .with(&[("quantity", "5"), ("capacity", "0.3 to 1.5 L")]),
            item(802, "Pantry Jars with Ash Lids, Set of 3", 2750)
                .about("Stackable jars with a turned lid and a seal of natural rubber.")
                .with(&[("quantity", "3"), ("capacity", "0.8 L")]),
            item(803, "Beeswax Wraps, Set of 3", 1895)
                .about("Cotton, beeswax and resin, for cheese and half a lemon.")
                .with(&[("material", "cotton and beeswax"), ("quantity", "3")])
                .colours(&["Meadow", "Stripe"]),
            item(804, "Silicone Freezer Bags, Set of 4", 2400)
                .about("Stand up to be filled, lie flat to be frozen.")
                .with(&[("material", "silicone"), ("quantity", "4")]),
            item(805, "Bread Bin with Board", 5800)
                .about("Steel box with a bamboo lid that is also a cutting board.")
                .with(&[("material", "steel and bamboo"), ("size", "36 x 20 cm")])
                .colours(&["White", "Black"]),
            item(806, "Lunch Box, Two Tiers", 3150)
                .about("Leakproof below, dry above, with a strap for the fork.")
                .with(&[("material", "stainless steel"), ("capacity", "1.2 L")]),
        ],
        ..LINE
    },
];
