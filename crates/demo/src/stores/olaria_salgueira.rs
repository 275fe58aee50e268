//! A ceramics studio in Portugal.

mod fornace;

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::CAREFUL;
use crate::line::{LINE, Line, axis, item};
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "olaria-salgueira",
    currency: "EUR",
    member_since_days_ago: 1310,
    habits: CAREFUL,
    deepest_stock: 40,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(30),
    free_shipping_threshold_minor: Some(8000),
    shipping_days: Some((4, 8)),
    return_summary: Some("Thirty days, unused. Breakages are replaced on a photograph."),
    shipping_summary: Some("Packed in straw, sent twice a week; free from 80 euro in the EU."),
    privacy_url: Some("https://olaria-salgueira.example/privacy"),
    terms_url: Some("https://olaria-salgueira.example/terms"),
    warranty_months: Some(24),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Olaria Salgueira",
        legal_name: "Olaria Salgueira, Lda.",
        description: "A ceramics studio of seven people near Alcobaça. We throw, glaze and fire \
                      tableware, vases and pots, and have done so since 1984.",
        website_url: "https://olaria-salgueira.example",
        platform: "woocommerce",
        active: true,
        country: "PT",
        currency: SHOP.currency,
        languages: vec!["pt", "en", "fr", "it"],
        ships_to: vec!["PT", "ES", "FR", "DE", "IT", "NL", "BE", "IE", "US"],
        support_email: "atelier@olaria-salgueira.example",
        trust_score: Some(0.97),
        provisional: false,
        identity: verified("extended", "company register", 388),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 12,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES, fornace::LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("tableware", "Tableware"),
    ("tableware/plates", "Plates"),
    ("tableware/bowls", "Bowls"),
    ("tableware/cups", "Cups & Mugs"),
    ("tableware/serving", "Serving & Oven"),
    ("tableware/tea", "Tea"),
    ("home-decor", "Home Decor"),
    ("home-decor/vases", "Vases"),
    ("home-decor/candles", "Candle Holders"),
    ("home-decor/tiles", "Tiles"),
    ("garden", "Garden"),
    ("garden/pots", "Pots"),
    ("fornace", "La fornace gemella"),
    ("fornace/colazione", "Colazione"),
    ("fornace/tavola", "A tavola"),
    ("fornace/forno", "Forno & pentole"),
    ("fornace/casa", "Casa & balcone"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "PR",
        category: "tableware/plates",
        brand: "Olaria Salgueira",
        about: "Thrown on the wheel in Alcobaça; sizes vary by a few millimetres.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(101, "Maré Dinner Plate, 27 cm", 3200)
                .about("A wide rim with a wash of sea glaze that pools in the middle.")
                .with(&[("size", "27 cm"), ("weight", "780 g")])
                .colours(&["Sea", "Sand", "Chalk"]),
            item(102, "Maré Side Plate, 21 cm", 2400)
                .about("For bread, cake and everything before the main course.")
                .with(&[("size", "21 cm"), ("weight", "480 g")])
                .colours(&["Sea", "Sand", "Chalk"]),
            item(103, "Maré Soup Plate, 23 cm", 2850)
                .about("Deep enough for caldo verde and a second ladle.")
                .with(&[("size", "23 cm"), ("weight", "640 g")])
                .colours(&["Sea", "Sand", "Chalk"]),
            item(104, "Eira Coupe Plate, 28 cm", 3400)
                .about("No rim at all; the curve does the work.")
                .with(&[("size", "28 cm"), ("weight", "820 g")])
                .colours(&["Straw", "Ash"]),
            item(105, "Eira Tapas Plate, 16 cm", 1900)
                .about("Small, flat, stackable by the dozen.")
                .with(&[("size", "16 cm"), ("weight", "290 g")])
                .colours(&["Straw", "Ash"]),
            item(106, "Maré Plate Set, 6 Pieces", 11_800)
                .about(
                    "Two each of dinner, side and soup, chosen from one firing so the glazes \
                     agree.",
                )
                .with(&[("quantity", "6")])
                .colours(&["Sea", "Sand"]),
        ],
        ..LINE
    },
    Line {
        prefix: "BO",
        category: "tableware/bowls",
        brand: "Olaria Salgueira",
        about: "Food-safe glaze; dishwasher and microwave are fine.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(151, "Maré Breakfast Bowl, 15 cm", 2200)
                .about("Granola, yoghurt, or soup for one.")
                .with(&[("size", "15 cm"), ("capacity", "550 ml")])
                .colours(&["Sea", "Sand", "Chalk"]),
            item(152, "Eira Noodle Bowl, 19 cm", 2600)
                .about("A tall foot to hold it by while it is hot.")
                .with(&[("size", "19 cm"), ("capacity", "1 L")])
                .colours(&["Straw", "Ash"]),
            item(153, "Figueira Salad Bowl, 30 cm", 5800)
                .about("Large enough to toss in, with fig leaves pressed into the clay.")
                .with(&[("size", "30 cm"), ("capacity", "3.5 L")]),
            item(154, "Sal Pinch Bowl, 8 cm", 1450)
                .about("For salt, oil or one perfect olive.")
                .with(&[("size", "8 cm"), ("capacity", "90 ml")])
                .colours(&["Sea", "Sand", "Chalk", "Ash"]),
            item(155, "Sal Pinch Bowls, Set of 4", 4900)
                .about("One of each glaze, wrapped as a present.")
                .with(&[("size", "8 cm"), ("quantity", "4")]),
            item(156, "Broa Mixing Bowl, 24 cm", 4400)
                .about("A lip to pour from and a base glazed halfway, for grip.")
                .with(&[("size", "24 cm"), ("capacity", "2.8 L")])
                .colours(&["Honey", "Green"]),
            item(157, "Eira Fruit Bowl with Drain Holes", 3600)
                .about("Rinse, drip, serve. Comes with its own saucer.")
                .with(&[("size", "20 cm")]),
        ],
        ..LINE
    },
    Line {
        prefix: "CU",
        category: "tableware/cups",
        brand: "Olaria Salgueira",
        about: "Glazed inside and out, raw at the foot.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(201, "Maré Mug, 300 ml", 2200)
                .about("A waist to hold and a thumb rest on the handle.")
                .with(&[("capacity", "300 ml"), ("weight", "340 g")])
                .colours(&["Sea", "Sand", "Chalk"]),
            item(202, "Maré Large Mug, 450 ml", 2600)
                .about("For tea drinkers and Mondays.")
                .with(&[("capacity", "450 ml"), ("weight", "430 g")])
                .colours(&["Sea", "Sand", "Chalk"]),
            item(203, "Bica Espresso Cup, 70 ml", 1750)
                .about("Thick walls for short coffee.")
                .with(&[("capacity", "70 ml")])
                .colours(&["Sea", "Ash", "Honey"]),
            item(204, "Bica Cup with Saucer, 70 ml", 2400)
                .about("The same cup with a place for the spoon.")
                .with(&[("capacity", "70 ml")])
                .colours(&["Sea", "Ash", "Honey"]),
            item(205, "Galão Tumbler, 250 ml", 2000)
                .about("Ribbed, without a handle, for milky coffee.")
                .with(&[("capacity", "250 ml")])
                .colours(&["Straw", "Chalk"]),
            item(206, "Vinho Beaker, 200 ml", 1800)
                .about("What wine was drunk from before glass was cheap.")
                .with(&[("capacity", "200 ml")])
                .colours(&["Honey", "Green"]),
            item(207, "Maré Mugs, Set of 4", 6800)
                .about("Four mugs from one firing.")
                .with(&[("capacity", "300 ml"), ("quantity", "4")])
                .colours(&["Sea", "Sand"]),
        ],
        ..LINE
    },
    Line {
        prefix: "SV",
        category: "tableware/serving",
        brand: "Olaria Salgueira",
        about: "Made for tables where dishes are passed around.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(251, "Azenha Oval Platter, 40 cm", 6400)
                .about("A shallow oval for a whole sea bream.")
                .with(&[("size", "40 x 26 cm"), ("weight", "1.9 kg")])
                .colours(&["Sea", "Ash"]),
            item(252, "Azenha Baking Dish, 30 cm", 4800)
                .about("Straight sides, two ears, a rim that wipes clean.")
                .with(&[("size", "30 x 20 cm"), ("capacity", "2.2 L")])
                .colours(&["Honey", "Green", "Chalk"]),
            item(253, "Azenha Pie Dish, 26 cm", 3400)
                .about("Fluted by thumb.")
                .with(&[("size", "26 cm")])
                .colours(&["Honey", "Chalk"]),
            item(254, "Lidded Casserole, 3 L", 8900)
                .about("Flameproof clay from the north, glazed inside only.")
                .with(&[
                    ("material", "flameproof clay"),
                    ("capacity", "3 L"),
                    ("weight", "3.3 kg"),
                ]),
            item(255, "Olive Oil Bottle, 500 ml", 4200)
                .about("A steel spout, a cork and no drips down the side.")
                .with(&[("capacity", "500 ml")])
                .colours(&["Green", "Ash"]),
            item(256, "Water Jug, 1.2 L", 3800)
                .about("The handle sits where the weight is.")
                .with(&[("capacity", "1.2 L")])
                .colours(&["Sea", "Sand"]),
            item(257, "Butter Dome", 4600)
                .about("Keeps half a pound and the cat apart.")
                .with(&[("size", "18 x 12 cm")])
                .colours(&["Chalk", "Straw"]),
            item(258, "Garlic Grater Plate with Brush", 2900)
                .about("A rough centre that turns garlic to paste.")
                .with(&[("size", "12 cm")])
                .colours(&["Green", "Honey"]),
        ],
        ..LINE
    },
    Line {
        prefix: "TE",
        category: "tableware/tea",
        brand: "Olaria Salgueira",
        about: "Sold piece by piece, so a broken one is no tragedy.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(301, "Névoa Teapot, 900 ml", 7400)
                .about("A lid that stays in while pouring and a spout that does not drip.")
                .with(&[("capacity", "900 ml")])
                .colours(&["Ash", "Chalk"]),
            item(302, "Névoa Small Teapot, 450 ml", 5200)
                .about("For one person and one book.")
                .with(&[("capacity", "450 ml")])
                .colours(&["Ash", "Chalk"]),
            item(303, "Névoa Tea Bowl, 150 ml", 1600)
                .about("Unglazed outside, to feel the clay.")
                .with(&[("capacity", "150 ml")])
                .colours(&["Ash", "Chalk"]),
            item(304, "Névoa Milk Jug, 250 ml", 2800)
                .about("Pours from either hand.")
                .with(&[("capacity", "250 ml")]),
            item(305, "Névoa Sugar Bowl with Lid", 2600)
                .about("A notch for the spoon.")
                .with(&[("capacity", "220 ml")]),
        ],
        ..LINE
    },
    Line {
        prefix: "VA",
        category: "home-decor/vases",
        brand: "Olaria Salgueira",
        about: "Watertight, with felt where it touches the furniture.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(351, "Seixo Vase, Medium", 5800)
                .about("Rounded like a river stone, with a narrow neck for branches.")
                .with(&[("height", "22 cm"), ("weight", "1.2 kg")])
                .colours(&["Chalk", "Basalt"]),
            item(352, "Seixo Vase, Large", 9200)
                .about("Stands on the floor without apology.")
                .with(&[("height", "38 cm"), ("weight", "3.4 kg")])
                .colours(&["Chalk", "Basalt"]),
            item(353, "Seixo Bud Vase", 3200)
                .about("For a single stem from the hedge.")
                .with(&[("height", "11 cm"), ("weight", "310 g")])
                .colours(&["Chalk", "Basalt", "Sea"]),
            item(354, "Cana Cylinder Vase", 4800)
                .about("Straight walls, combed while wet.")
                .with(&[("height", "24 cm"), ("weight", "1.1 kg")])
                .colours(&["Straw", "Sea"]),
            item(355, "Hanging Wall Vase", 3600)
                .about("A pocket for dried flowers, with a hidden hole for the nail.")
                .with(&[("height", "18 cm"), ("weight", "520 g")])
                .colours(&["Chalk", "Straw"]),
        ],
        ..LINE
    },
    Line {
        prefix: "CH",
        category: "home-decor/candles",
        brand: "Olaria Salgueira",
        about: "Made from the clay left over at the end of the day.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(401, "Candle Holder, Low", 1950)
                .about("A dish with a finger ring, like the ones for cellar stairs.")
                .with(&[("size", "12 cm")])
                .colours(&["Sea", "Ash"]),
            item(402, "Candle Holder, Tall", 2600)
                .about("Eighteen centimetres, turned like a chess piece.")
                .with(&[("height", "18 cm")])
                .colours(&["Chalk", "Basalt"]),
            item(403, "Refillable Fig Leaf Candle", 3400)
                .about("Rapeseed wax in a cup that outlives it.")
                .with(&[("weight", "240 g")])
                .choose(&[axis("fill", &["Cup", "Refill only"])]),
            item(404, "Incense Dish with Pin", 2200)
                .about("Catches all the ash.")
                .with(&[("size", "14 cm")])
                .colours(&["Ash", "Basalt"]),
        ],
        ..LINE
    },
    Line {
        prefix: "PL",
        category: "garden/pots",
        brand: "Olaria Salgueira",
        about: "Frost-proof to minus ten.",
        attributes: &[("material", "terracotta")],
        items: &[
            item(451, "Terraço Pot, 14 cm", 2400)
                .about("Raw outside, glazed inside the rim.")
                .with(&[("size", "14 cm"), ("weight", "900 g")]),
            item(452, "Terraço Pot, 20 cm", 3800)
                .about("The size for a lemon tree's first years.")
                .with(&[("size", "20 cm"), ("weight", "2.1 kg")]),
            item(453, "Terraço Pot, 28 cm", 6200)
                .about("The size for the years after.")
                .with(&[("size", "28 cm"), ("weight", "4.6 kg")]),
            item(454, "Self-Watering Herb Pot", 2900)
                .about("A wick and a reservoir for five days away.")
                .with(&[("size", "15 cm")])
                .colours(&["Green", "Chalk"]),
            item(455, "Bird Bath Dish", 3400)
                .about("Shallow, with a rough landing.")
                .with(&[("size", "32 cm"), ("weight", "2.2 kg")])
                .discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "TI",
        category: "home-decor/tiles",
        brand: "Olaria Salgueira",
        about: "Tin-glazed and painted freehand.",
        attributes: &[("material", "faience"), ("size", "14 x 14 cm")],
        items: &[
            item(501, "Hand-Painted Tile, Swallow", 1250)
                .about("The swallow that comes back every year."),
            item(502, "Hand-Painted Tile, Sardine", 1250)
                .about("Blue on white, one fin always different."),
            item(503, "Hand-Painted Tile, Lemon Branch", 1250)
                .about("Two lemons, one leaf, no two alike."),
            item(504, "House Number Tile", 1400)
                .about("Tell us the digits; we paint for a week.")
                .choose(&[axis("digits", &["One", "Two", "Three"]).costing(&[0, 600, 1200])]),
            item(505, "Tile Panel, Nine Swallows", 8800)
                .about("Nine tiles that make a sky.")
                .with(&[("size", "42 x 42 cm"), ("quantity", "9")])
                .preorder(),
        ],
        ..LINE
    },
];
