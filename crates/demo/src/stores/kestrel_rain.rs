//! A specialty coffee roaster in Portland.

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::CAREFUL;
use crate::line::{LINE, Line, SIZES, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "kestrel-rain",
    currency: "USD",
    member_since_days_ago: 760,
    habits: CAREFUL,
    deepest_stock: 120,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(14),
    free_shipping_threshold_minor: Some(4500),
    shipping_days: Some((2, 4)),
    return_summary: Some("Did not like it? Tell us within 14 days and we send another bag."),
    shipping_summary: Some("Roasted to order on weekdays, shipped the same day; free from $45."),
    privacy_url: Some("https://kestrel-rain.example/privacy"),
    terms_url: Some("https://kestrel-rain.example/terms"),
    warranty_months: Some(12),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Kestrel & Rain Coffee",
        legal_name: "Kestrel and Rain Coffee LLC",
        description: "A specialty coffee roaster in Portland, Oregon. We buy from farms we have \
                      visited, roast in twelve-kilogram batches and ship the same day.",
        website_url: "https://kestrel-rain.example",
        platform: "shopify",
        active: true,
        country: "US",
        currency: SHOP.currency,
        languages: vec!["en"],
        ships_to: vec!["US", "CA"],
        support_email: "roastery@kestrel-rain.example",
        trust_score: Some(0.93),
        provisional: false,
        identity: verified("business", "tax number", 145),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 9,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("coffee", "Coffee"),
    ("coffee/single-origin", "Single Origin"),
    ("coffee/blends", "Blends"),
    ("coffee/espresso", "Espresso"),
    ("coffee/decaf", "Decaf"),
    ("coffee/instant", "Instant & Bags"),
    ("home-kitchen", "Home & Kitchen"),
    ("home-kitchen/coffee", "Brewing Gear"),
    ("home-kitchen/tableware", "Cups & Mugs"),
    ("clothing", "Clothing"),
    ("gifts", "Gifts & Subscriptions"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "SO",
        category: "coffee/single-origin",
        brand: "Kestrel & Rain",
        about: "Roasted in Portland on the morning it ships.",
        attributes: &[("roast", "light")],
        axes: &[
            axis("size", &["12 oz", "2 lb"]).costing(&[0, 2800]),
            axis("grind", &["Whole bean", "Filter", "Coarse"]),
        ],
        items: &[
            item(101, "Ethiopia Bokasso Washed", 2150)
                .about(
                    "Jasmine, bergamot and a peach that arrives as the cup cools. From \
                     smallholders above 2,000 metres.",
                )
                .with(&[("origin", "Ethiopia"), ("process", "washed"), ("altitude", "2050 m")]),
            item(102, "Ethiopia Shantawene Natural", 2250)
                .about("Blueberry jam and cocoa nib, dried on raised beds for eighteen days.")
                .with(&[("origin", "Ethiopia"), ("process", "natural"), ("altitude", "2100 m")]),
            item(103, "Guatemala Finca El Sauce", 2000)
                .about("Toffee, red apple, a rounded body; the one we drink on cupping-free days.")
                .with(&[("origin", "Guatemala"), ("process", "washed"), ("altitude", "1700 m")]),
            item(104, "Kenya Gathera AB", 2300)
                .about("Blackcurrant and tomato leaf, with the acidity turned up.")
                .with(&[("origin", "Kenya"), ("process", "washed"), ("altitude", "1800 m")]),
            item(105, "Colombia Las Nubes", 1950)
                .about("Panela, orange and milk chocolate from eleven neighbouring farms.")
                .with(&[("origin", "Colombia"), ("process", "washed"), ("altitude", "1850 m")]),
            item(106, "Colombia Pink Bourbon", 2400)
                .about("Grapefruit, hibiscus and a long sweet finish. One producer, nine bags.")
                .with(&[("origin", "Colombia"), ("process", "washed"), ("altitude", "1900 m")]),
            item(107, "Costa Rica La Loma Honey", 2200)
                .about("Dried apricot and almond; sticky parchment dried slowly in the shade.")
                .with(&[
                    ("origin", "Costa Rica"),
                    ("process", "yellow honey"),
                    ("altitude", "1600 m"),
                ]),
            item(108, "Rwanda Kivu Hills", 2050).about("Black tea, cherry, brown sugar.").with(&[
                ("origin", "Rwanda"),
                ("process", "washed"),
                ("altitude", "1750 m"),
            ]),
            item(109, "Peru Alto Marañón", 1900)
                .about("A gentle cup: cashew, vanilla, green grape.")
                .with(&[("origin", "Peru"), ("process", "washed"), ("altitude", "1700 m")]),
            item(110, "Panama Gesha Lot 14", 3600)
                .about("Honeysuckle and white peach. Sold once a year, until the one box is empty.")
                .with(&[("origin", "Panama"), ("process", "washed"), ("altitude", "1950 m")])
                .preorder(),
            item(111, "Sumatra Harimau", 2100)
                .about("Cedar, dark honey and dried herbs; heavy and clean at once.")
                .with(&[
                    ("origin", "Indonesia"),
                    ("process", "wet-hulled"),
                    ("roast", "medium"),
                    ("altitude", "1400 m"),
                ]),
            item(112, "Burundi Kayanza Natural", 2200)
                .about("Strawberry yoghurt and rose hip.")
                .with(&[("origin", "Burundi"), ("process", "natural"), ("altitude", "1800 m")]),
            item(113, "Honduras Santa Elena", 2000)
                .about("Caramel apple and hazelnut from the cloud forest above Marcala.")
                .with(&[("origin", "Honduras"), ("process", "washed"), ("altitude", "1600 m")])
                .discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "BL",
        category: "coffee/blends",
        brand: "Kestrel & Rain",
        about: "The recipe changes with the harvest, the taste does not.",
        attributes: &[("roast", "medium")],
        axes: &[
            axis("size", &["12 oz", "2 lb"]).costing(&[0, 2400]),
            axis("grind", &["Whole bean", "Filter", "Coarse"]),
        ],
        items: &[
            item(201, "First Ferry Breakfast Blend", 1800)
                .about("Sweet, even and awake: milk chocolate, toasted oat, orange zest.")
                .with(&[("origin", "Colombia and Ethiopia")]),
            item(202, "Bridge City Blend", 1800)
                .about("Walnut and molasses, for drip machines and diners.")
                .with(&[("origin", "Brazil and Guatemala")]),
            item(203, "Long Rain Dark Roast", 1850)
                .about("Smoke, cocoa, black cherry; oil on the bean and no apologies.")
                .with(&[("origin", "Sumatra and Brazil"), ("roast", "dark")]),
            item(204, "Cold Front Blend", 1900)
                .about("Built for cold brew: low acidity, chocolate syrup, a hint of plum.")
                .with(&[("origin", "Brazil and Peru")]),
            item(205, "Winter Solstice Blend", 1950)
                .about("Clove, candied orange and dark sugar. Returns every November.")
                .with(&[("origin", "Ethiopia and Sumatra")]),
            item(206, "Half Day Half-Caf", 1750)
                .about("Half the caffeine, all of the biscuit.")
                .with(&[("origin", "Colombia")]),
        ],
        ..LINE
    },
    Line {
        prefix: "ES",
        category: "coffee/espresso",
        brand: "Kestrel & Rain",
        about: "Rest it for ten days after the roast date.",
        attributes: &[("roast", "medium dark")],
        axes: &[
            axis("size", &["12 oz", "2 lb"]).costing(&[0, 2600]),
            axis("grind", &["Whole bean", "Espresso"]),
        ],
        items: &[
            item(301, "Talon Espresso", 1900)
                .about("Dark cherry and dulce de leche; our house shot since the first day.")
                .with(&[("origin", "Brazil and Colombia")]),
            item(302, "Downdraft Espresso", 2050)
                .about("A brighter shot: raspberry, praline, long finish.")
                .with(&[("origin", "Ethiopia and Guatemala"), ("roast", "medium")]),
            item(303, "Slow Drizzle Decaf Espresso", 1950)
                .about("Pulls like the real thing, lets you sleep like it is not.")
                .with(&[("origin", "Colombia"), ("process", "sugar cane decaf")]),
            item(304, "Granite Espresso", 1850)
                .about("Baker's chocolate and chestnut, made for large milk drinks.")
                .with(&[("origin", "Brazil and India"), ("roast", "dark")]),
        ],
        ..LINE
    },
    Line {
        prefix: "DC",
        category: "coffee/decaf",
        brand: "Kestrel & Rain",
        about: "Decaffeinated without solvents.",
        attributes: &[("roast", "medium"), ("caffeine", "less than 0.1 percent")],
        axes: &[
            axis("size", &["12 oz", "2 lb"]).costing(&[0, 2600]),
            axis("grind", &["Whole bean", "Filter", "Coarse"]),
        ],
        items: &[
            item(401, "Dusk Decaf", 2000)
                .about("Water-process decaf with maple, fig and cocoa.")
                .with(&[("origin", "Peru"), ("process", "water decaf")]),
            item(402, "Evening Peak Decaf", 2150)
                .about("Single farm, mountain-water process: red apple and honey.")
                .with(&[("origin", "Mexico"), ("process", "water decaf")]),
        ],
        ..LINE
    },
    Line {
        prefix: "IN",
        category: "coffee/instant",
        brand: "Kestrel & Rain",
        about: "Freeze-dried in small trays; dissolves in cold water too.",
        attributes: &[("weight", "5 g each")],
        items: &[
            item(451, "Trail Instant, 6 Sachets", 1500)
                .about("First Ferry without the kit.")
                .with(&[("quantity", "6"), ("roast", "medium")]),
            item(452, "Ethiopia Instant, 6 Sachets", 1650)
                .about("A washed Ethiopian that survives being instant.")
                .with(&[("quantity", "6"), ("roast", "light")]),
            item(453, "Decaf Instant, 6 Sachets", 1500)
                .about("For tents and late trains.")
                .with(&[("quantity", "6"), ("roast", "medium")]),
        ],
        ..LINE
    },
    Line {
        prefix: "BG",
        category: "coffee/instant",
        brand: "Kestrel & Rain",
        about: "Ground minutes before it is sealed.",
        attributes: &[("roast", "medium")],
        items: &[
            item(454, "Steeped Coffee Bags, Box of 10", 1800)
                .about("Like tea: hot water, four minutes, done.")
                .with(&[("quantity", "10"), ("weight", "12 g each")]),
            item(455, "Cold Brew Pouches, Box of 4", 2400)
                .about("One pouch, one litre, one night in the fridge.")
                .with(&[("quantity", "4"), ("weight", "60 g each")]),
        ],
        ..LINE
    },
    Line {
        prefix: "KIT",
        category: "home-kitchen/coffee",
        brand: "Kestrel & Rain",
        about: "In daily use behind our own bar.",
        items: &[
            sold(shared::HERON_KETTLE, 501, 9900),
            sold(shared::WREN_GRINDER, 502, 8400),
            sold(shared::DIPPER_SCALE, 503, 4700),
            sold(shared::BITTERN_PRESS, 504, 5950),
            sold(shared::PAPER_FILTERS, 505, 750),
            sold(shared::SANDPIPER_PRESS, 506, 3800),
            item(507, "Feather Porcelain Dripper", 2800)
                .about("A thin-walled cone with twenty spiral ribs, glazed in two colours.")
                .with(&[("material", "porcelain"), ("size", "No. 2")])
                .colours(&["Rain Grey", "White"]),
            item(508, "Perch Electric Burr Grinder", 16_900)
                .about("Flat steel burrs, forty settings and a cup that does not spray chaff.")
                .with(&[("material", "steel"), ("power", "150 W"), ("weight", "2.9 kg")])
                .colours(&["Black", "White"]),
            item(509, "Cold Brew Jar, 1.5 L", 3400)
                .about("A mesh column in a mason jar with a spout.")
                .with(&[("material", "glass"), ("capacity", "1.5 L")]),
            item(510, "Cupping Set", 4200)
                .about("Two bowls, two spoons and a card that explains the slurping.")
                .with(&[("material", "porcelain and steel")]),
            item(511, "Walnut Tamper, 58 mm", 2600)
                .about("Flat steel base, a handle turned in our back room.")
                .with(&[("material", "walnut and steel"), ("size", "58 mm")]),
            item(512, "Milk Pitcher, 350 ml", 1950)
                .about("A sharp spout for rosettas.")
                .with(&[("material", "stainless steel"), ("capacity", "350 ml")]),
            item(513, "Grinder Brush Set", 1400)
                .about("Two brushes and a bellows for retained grounds.")
                .with(&[("material", "beech and boar bristle")]),
            item(514, "Descaler and Cleaner Kit", 2200)
                .about("Citric acid for the kettle, tablets for the machine.")
                .with(&[("quantity", "10 doses")]),
        ],
        ..LINE
    },
    Line {
        prefix: "MUG",
        category: "home-kitchen/tableware",
        brand: "Kestrel & Rain",
        about: "Made for our own counter first.",
        attributes: &[("material", "stoneware")],
        items: &[
            item(601, "Diner Mug, 10 oz", 2400)
                .about("Thick walls, a stout handle, a kestrel on the base.")
                .with(&[("capacity", "10 oz")])
                .colours(&["Cream", "Rust"]),
            item(602, "Tulip Cup and Saucer, 6 oz", 2800)
                .about("Shaped for cappuccino.")
                .with(&[("capacity", "6 oz")])
                .colours(&["Cream", "Slate"]),
            item(603, "Espresso Cups, Pair", 1800)
                .about("Two ounces, warm to the touch.")
                .with(&[("capacity", "2 oz"), ("quantity", "2")]),
            item(604, "Travel Tumbler, 12 oz", 2600)
                .about("Ceramic-lined steel; the coffee tastes of coffee.")
                .with(&[("material", "steel"), ("capacity", "12 oz")])
                .colours(&["Rain", "Moss", "Black"]),
        ],
        ..LINE
    },
    Line {
        prefix: "TOG",
        category: "clothing",
        brand: "Kestrel & Rain",
        about: "Printed with water-based ink on Alberta Street.",
        attributes: &[("material", "organic cotton")],
        items: &[
            item(701, "Kestrel T-Shirt", 3200)
                .about("A small bird on the chest and a large one on the back.")
                .choose(&[SIZES])
                .colours(&["Ink", "Cream"]),
            item(702, "Roastery Sweatshirt", 6400)
                .about("Heavy loopback, dropped shoulder.")
                .choose(&[SIZES])
                .colours(&["Oat", "Rain Grey"]),
            item(703, "Waxed Tote", 2400)
                .about("Carries eight bags of coffee or one of groceries.")
                .with(&[("material", "waxed canvas"), ("volume", "14 L")]),
            item(704, "Rain Cap", 2800)
                .about("Five panels, waxed brim.")
                .with(&[("material", "waxed cotton")])
                .colours(&["Olive", "Black"]),
        ],
        ..LINE
    },
    Line {
        prefix: "GIFT",
        category: "gifts",
        brand: "Kestrel & Rain",
        about: "Ships with a handwritten card.",
        items: &[
            item(801, "Three-Origin Tasting Box", 5800)
                .about(
                    "Three half bags chosen to be compared, with notes that do not tell you what \
                     to taste.",
                )
                .with(&[("quantity", "3"), ("weight", "510 g")]),
            item(802, "Pour-Over Beginner Kit", 9600)
                .about("Dripper, filters, a bag of First Ferry and our two-page method.")
                .with(&[("quantity", "4")]),
            item(803, "Three-Month Coffee Subscription", 5400)
                .about("One bag a month, roaster's choice.")
                .with(&[("quantity", "3")])
                .choose(&[axis("grind", &["Whole bean", "Filter", "Espresso"])]),
            item(804, "Six-Month Coffee Subscription", 10_200)
                .about("Half a year of mornings.")
                .with(&[("quantity", "6")])
                .choose(&[axis("grind", &["Whole bean", "Filter", "Espresso"])]),
        ],
        ..LINE
    },
];
