//! A toy maker in Canada that has only just joined.

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::NEW;
use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "puddlewick-toys",
    currency: "USD",
    member_since_days_ago: 24,
    habits: NEW,
    deepest_stock: 50,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(45),
    free_shipping_threshold_minor: Some(6500),
    shipping_days: Some((4, 9)),
    return_summary: Some("Forty-five days; toys that have been chewed are yours."),
    shipping_summary: Some("Ships from Halifax on Mondays and Thursdays; free from $65."),
    privacy_url: Some("https://puddlewick.example/privacy"),
    terms_url: Some("https://puddlewick.example/terms"),
    warranty_months: Some(24),
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Puddlewick Toys",
        legal_name: "Puddlewick Toys Ltd.",
        description: "Wooden toys, soft animals and games for children who go outside, made and \
                      packed in Nova Scotia. We have just opened our online shop.",
        website_url: "https://puddlewick.example",
        platform: "medusa",
        active: true,
        country: "CA",
        currency: SHOP.currency,
        languages: vec!["en", "fr"],
        ships_to: vec!["CA", "US"],
        support_email: "hello@puddlewick.example",
        trust_score: Some(0.87),
        provisional: true,
        identity: verified("basic", "domain and bank account", 11),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 18,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("toys-games", "Toys & Games"),
    ("toys-games/wooden", "Wooden Toys"),
    ("toys-games/plush", "Soft Animals"),
    ("toys-games/puzzles", "Puzzles"),
    ("toys-games/games", "Games"),
    ("toys-games/crafts", "Craft Kits"),
    ("toys-games/outdoor", "Outdoor Play"),
    ("toys-games/books", "Children's Books"),
    ("toys-games/dress-up", "Dress-Up"),
];

const LINES: &[Line] =
    &[
        Line {
            prefix: "WD",
            category: "toys-games/wooden",
            brand: "Tumblewren",
            about: "Solid beech, finished with linseed oil.",
            attributes: &[("material", "beech")],
            items: &[
                sold(shared::HOUSE_BLOCKS, 101, 4200),
                item(102, "Rainbow Stacker, 7 Arches", 2900)
                    .about("Arches that become bridges, caves and a cradle for dolls.")
                    .with(&[("age", "1+"), ("quantity", "7")]),
                item(103, "Balance Barge", 3450)
                    .about("A boat that tips if the animals board on one side only.")
                    .with(&[("age", "3+"), ("quantity", "12")]),
                item(104, "Pull-Along Goose", 2400)
                    .about("Wheels off-centre, so she waddles.")
                    .with(&[("age", "1+"), ("length", "22 cm")])
                    .colours(&["White", "Grey"]),
                item(105, "Marble Run Starter Set", 5800)
                    .about("Forty-four blocks with grooves and tunnels; no two runs alike.")
                    .with(&[("age", "4+"), ("quantity", "44")]),
                item(106, "Marble Run Extension with Bells", 3200)
                    .about("A staircase of chimes and two spirals.")
                    .with(&[("age", "4+"), ("quantity", "18")]),
                item(107, "Timber Train Set", 4400)
                    .about("An oval of track, a steam engine and three wagons with magnets.")
                    .with(&[("age", "3+"), ("quantity", "26")]),
                item(108, "Shape Sorter House", 1850)
                    .about("Six shapes, six doors, one key.")
                    .with(&[("age", "1+"), ("quantity", "6")]),
                item(109, "Stacking Hedgehogs", 1600)
                    .about("Five hedgehogs that will not stack unless asked nicely.")
                    .with(&[("age", "2+"), ("quantity", "5")]),
                item(110, "Wooden Kitchen Scale and Fruit", 3900)
                    .about("Weighs apples against pears; the fruit halves hold with a peg.")
                    .with(&[("age", "3+"), ("quantity", "14")]),
            ],
            ..LINE
        },
        Line {
            prefix: "PL",
            category: "toys-games/plush",
            brand: "Puddlewick",
            about: "Washable at 30 °C and tested for newborns.",
            attributes: &[("material", "organic cotton")],
            items: &[
                item(151, "Bramble the Badger", 2800)
                    .about("Long arms for dragging, a vest that comes off.")
                    .with(&[("age", "0+"), ("height", "32 cm")]),
                item(152, "Otis the Otter", 2600)
                    .about("Floats on his back on any sofa.")
                    .with(&[("age", "0+"), ("height", "28 cm")]),
                item(153, "Maud the Moose", 2600)
                    .about("Felt antlers, patient face.")
                    .with(&[("age", "0+"), ("height", "30 cm")]),
                item(154, "Big Bramble the Badger", 3400)
                    .about("The same badger for a bigger hug.")
                    .with(&[("age", "0+"), ("height", "55 cm")]),
                item(155, "Comfort Cloth, Owl", 1800)
                    .about("Three knots to chew and one to hold.")
                    .with(&[("age", "0+"), ("size", "28 cm")])
                    .colours(&["Oat", "Sage"]),
                item(156, "Hand Puppet, Fox", 2200)
                    .about("The mouth opens; the tail is a glove finger.")
                    .with(&[("age", "2+"), ("height", "26 cm")]),
                item(157, "Hand Puppet, Crow", 2200)
                    .about("Wings for two fingers and a thumb.")
                    .with(&[("age", "2+"), ("height", "26 cm")]),
                item(158, "Rattle, Acorn", 1450)
                    .about("A soft bell inside a crocheted cap.")
                    .with(&[("age", "0+"), ("size", "12 cm")]),
            ],
            ..LINE
        },
        Line {
            prefix: "PZ",
            category: "toys-games/puzzles",
            brand: "Oddacre",
            about: "Lost pieces are replaced for the price of a stamp.",
            attributes: &[("material", "recycled board")],
            items: &[
                sold(shared::MOON_PUZZLE, 201, 3400),
                item(202, "Floor Puzzle, Forest Floor, 48 Pieces", 1800)
                    .about("A metre of mushrooms, beetles and one hidden vole.")
                    .with(&[("quantity", "48"), ("age", "4+"), ("size", "100 x 70 cm")]),
                item(203, "My First Puzzles, Four Animals", 1650)
                    .about("Two, three, four and five pieces.")
                    .with(&[("quantity", "14"), ("age", "2+")]),
                item(204, "Map of Canada, 200 Pieces", 2200)
                    .about("Cut along the provinces, with a flag for every capital.")
                    .with(&[("quantity", "200"), ("age", "7+")]),
                item(205, "Round Puzzle, Night Sky, 500 Pieces", 2400)
                    .about("Glows faintly when the light goes out.")
                    .with(&[("quantity", "500"), ("age", "9+")]),
                item(206, "Layer Puzzle, Caterpillar to Moth", 1900)
                    .about("Five layers, one life.")
                    .with(&[("material", "beech"), ("quantity", "28"), ("age", "3+")]),
            ],
            ..LINE
        },
        Line {
            prefix: "GM",
            category: "toys-games/games",
            brand: "Oddacre",
            about: "The rules fit on one sheet.",
            attributes: &[("material", "card")],
            items: &[
                sold(shared::FOX_GAME, 251, 1650),
                item(252, "Ferry Captains", 3200)
                    .about("Load the deck so that everyone gets off in the right order.")
                    .with(&[("players", "2-4"), ("age", "7+"), ("duration", "30 min")]),
                item(253, "Snail Derby", 2400)
                    .about("A race that nobody wants to win first.")
                    .with(&[("players", "2-6"), ("age", "4+"), ("duration", "15 min")]),
                item(254, "Memory, Leaves and Seeds", 1400)
                    .about("Match the leaf to its seed: harder than twins.")
                    .with(&[("players", "1-4"), ("age", "4+"), ("duration", "15 min")]),
                item(255, "The Lantern Keepers", 2800)
                    .about("A cooperative game against the tide.")
                    .with(&[("players", "1-4"), ("age", "6+"), ("duration", "25 min")]),
                item(256, "Tall Tales Dice", 1250)
                    .about("Nine wooden dice, several thousand beginnings.")
                    .with(&[("material", "beech"), ("players", "1+"), ("age", "5+")]),
            ],
            ..LINE
        },
        Line {
            prefix: "CR",
            category: "toys-games/crafts",
            brand: "Puddlewick",
            about: "Everything needed is in the box, scissors aside.",
            attributes: &[("age", "6+")],
            items: &[
                item(301, "Weaving Loom with Yarn", 2600)
                    .about("A lap loom, a shuttle and six colours of wool.")
                    .with(&[("material", "beech and wool")]),
                item(302, "Grow a Pizza Garden", 2200)
                    .about("Tomato, basil and oregano with peat-free pots.")
                    .with(&[("quantity", "3")]),
                item(303, "Paper Lantern Kit", 1950)
                    .about("Four lanterns to fold, with battery tea lights.")
                    .with(&[("quantity", "4")]),
                item(304, "Beginner's Whittling Set", 2450)
                    .about("A blunt-tipped knife, a thumb guard and five blanks.")
                    .with(&[("age", "8+"), ("quantity", "7")]),
                item(305, "Potato Stamp Paints", 1600)
                    .about("Six thick paints and a lino-safe carving tool.")
                    .with(&[("quantity", "6")]),
                sold(shared::PENCIL_TIN, 306, 3100),
                item(307, "Sew a Sloth Kit", 2800)
                    .about("Pre-cut felt, pre-punched holes.")
                    .with(&[("material", "wool felt"), ("age", "7+")]),
                item(308, "Bird Feeder Building Kit", 2100)
                    .about("Cedar pieces and brass screws; the birds come by themselves.")
                    .with(&[("material", "cedar"), ("age", "6+")]),
            ],
            ..LINE
        },
        Line {
            prefix: "OU",
            category: "toys-games/outdoor",
            brand: "Puddlewick",
            about: "Meant to be left in the rain once in a while.",
            items: &[
                item(351, "Canvas Tipi Kite", 3600)
                    .about("Flies in a breeze and packs into its own sail.")
                    .with(&[("material", "ripstop"), ("size", "110 cm")])
                    .colours(&["Red", "Teal"]),
                item(352, "Bug Hunter Kit", 2900)
                    .about("A jar with a magnifying lid, tweezers and a field card.")
                    .with(&[("age", "5+")]),
                item(353, "Skipping Rope with Beech Handles", 1800)
                    .about("Braided cotton, two lengths.")
                    .with(&[("material", "cotton and beech")])
                    .choose(&[axis("length", &["2.1 m", "2.6 m"]).costing(&[0, 200])]),
                item(354, "Balance Bike", 6400)
                    .about("A low step, air tyres and a saddle that grows.")
                    .with(&[("age", "2+"), ("weight", "3.6 kg")])
                    .colours(&["Mint", "Tomato"]),
                item(355, "Sand and Water Set", 2400)
                    .about("Steel bucket, spade and three moulds that survive winter.")
                    .with(&[("material", "steel"), ("quantity", "5")]),
                item(356, "Mud Kitchen Utensils", 4200)
                    .about("Real pans in small sizes.")
                    .with(&[("material", "steel"), ("quantity", "8")]),
            ],
            ..LINE
        },
        Line {
            prefix: "BK",
            category: "toys-games/books",
            brand: "Puddlewick",
            about: "Written and printed in Nova Scotia.",
            items: &[
                item(401, "The Badger Who Kept Everything", 1900)
                    .about("A picture book about lost mittens.")
                    .with(&[("pages", "40"), ("age", "3+"), ("language", "English")]),
                item(402, "Otis Counts the Boats", 1900)
                    .about("One to twenty, by way of a harbour.")
                    .with(&[("pages", "32"), ("age", "2+"), ("language", "English")]),
                item(403, "Puddle Day Board Book", 1250).about("Thick pages, wet boots.").with(&[
                    ("pages", "16"),
                    ("age", "0+"),
                    ("language", "English"),
                ]),
                item(404, "Forest School Handbook", 2100)
                    .about("Fifty afternoons outdoors for adults who need ideas.")
                    .with(&[("pages", "168"), ("language", "English")])
                    .preorder(),
            ],
            ..LINE
        },
        Line {
            prefix: "DR",
            category: "toys-games/dress-up",
            brand: "Puddlewick",
            about: "Elastic where children pull.",
            attributes: &[("material", "cotton")],
            items: &[
                item(451, "Wizard Cape, Reversible", 3800)
                    .about("Stars on one side, moss on the other.")
                    .choose(&[axis("size", &["3-5 years", "6-8 years"]).costing(&[0, 300])])
                    .colours(&["Night", "Moss"]),
                item(452, "Felt Crown", 2400)
                    .about("Adjustable, with a birthday pocket.")
                    .with(&[("material", "wool felt")])
                    .colours(&["Ochre", "Rose"]),
                item(453, "Explorer Vest", 4400)
                    .about("Nine pockets and a compass that works.")
                    .choose(&[axis("size", &["3-5 years", "6-8 years"]).costing(&[0, 300])]),
                item(454, "Dragon Wings and Tail", 3200)
                    .about("Flaps when running.")
                    .with(&[("material", "felt")])
                    .colours(&["Green", "Red"]),
            ],
            ..LINE
        },
    ];
