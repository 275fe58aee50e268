//! A skincare brand in France.

mod herboristerie;

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::CAREFUL;
use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "orelys",
    currency: "EUR",
    member_since_days_ago: 640,
    habits: CAREFUL,
    deepest_stock: 160,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(30),
    free_shipping_threshold_minor: Some(4500),
    shipping_days: Some((2, 5)),
    return_summary: Some("Thirty days, also opened, if it did not suit your skin."),
    shipping_summary: Some("Sent from Grasse every working day; free from 45 euro."),
    privacy_url: Some("https://orelys.example/privacy"),
    terms_url: Some("https://orelys.example/terms"),
    warranty_months: None,
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Orélys",
        legal_name: "Laboratoire Orélys SAS",
        description: "Skincare without perfume or promises, formulated and filled in Grasse. \
                      Short ingredient lists, refillable jars, dates on every bottle.",
        website_url: "https://orelys.example",
        platform: "shopify",
        active: true,
        country: "FR",
        currency: SHOP.currency,
        languages: vec!["fr", "en", "de"],
        ships_to: vec!["FR", "BE", "DE", "IT", "ES", "NL", "AT", "PT"],
        support_email: "bonjour@orelys.example",
        trust_score: Some(0.86),
        provisional: false,
        identity: verified("business", "company register", 96),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 31,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES, herboristerie::LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("beauty", "Beauty"),
    ("beauty/cleansers", "Cleansers"),
    ("beauty/serums", "Serums"),
    ("beauty/moisturisers", "Moisturisers"),
    ("beauty/sun", "Sun Care"),
    ("beauty/masks", "Masks"),
    ("beauty/lips-hands", "Lips & Hands"),
    ("beauty/body", "Body"),
    ("beauty/hair", "Hair"),
    ("beauty/sets", "Sets & Accessories"),
    ("herboristerie", "L'herboristerie"),
    ("herboristerie/visage", "Soins du visage"),
    ("herboristerie/corps", "Soins du corps"),
    ("herboristerie/cheveux", "Cheveux"),
    ("herboristerie/maison", "Maison & bain"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "CL",
        category: "beauty/cleansers",
        brand: "Orélys",
        about: "Without perfume, tested on volunteers in Grasse.",
        attributes: &[("skin type", "all")],
        items: &[
            item(101, "Gentle Foaming Cleanser", 2200)
                .about("Sugar-derived foam that rinses without tightness.")
                .with(&[("capacity", "150 ml"), ("key ingredient", "glucoside")])
                .choose(&[axis("size", &["150 ml", "400 ml"]).costing(&[0, 1600])]),
            item(102, "Melting Cleansing Balm", 2600)
                .about("Dissolves sunscreen and mascara, then turns to milk.")
                .with(&[("capacity", "90 ml"), ("key ingredient", "sunflower oil")]),
            item(103, "Micellar Water", 1900)
                .about("Does not sting the eyes, does not need rinsing.")
                .with(&[("capacity", "250 ml")])
                .choose(&[axis("size", &["250 ml", "500 ml"]).costing(&[0, 900])]),
            item(104, "Cleansing Bar for Face", 1850)
                .about("Solid, soap-free, good for three months.")
                .with(&[("weight", "90 g"), ("key ingredient", "oat")]),
            item(105, "Clay Wash for Oily Skin", 2400)
                .about("Green clay twice a week, never three times.")
                .with(&[
                    ("capacity", "125 ml"),
                    ("skin type", "oily"),
                    ("key ingredient", "green clay"),
                ]),
            item(106, "Enzyme Powder Cleanser", 2800)
                .about("Papaya enzymes wake up with water.")
                .with(&[("weight", "50 g"), ("key ingredient", "papain")]),
        ],
        ..LINE
    },
    Line {
        prefix: "SE",
        category: "beauty/serums",
        brand: "Orélys",
        about: "In airless glass, dated at filling.",
        items: &[
            item(151, "Hyaluronic Serum", 3800)
                .about("Three weights of hyaluronic acid and nothing sticky.")
                .with(&[("capacity", "30 ml"), ("key ingredient", "hyaluronic acid")]),
            item(152, "Vitamin C Serum, 12 Percent", 4600)
                .about("A stable form in the dark, with ferulic acid.")
                .with(&[("capacity", "30 ml"), ("key ingredient", "ascorbic acid")]),
            item(153, "Niacinamide Serum, 5 Percent", 4200)
                .about("Evens tone, calms shine.")
                .with(&[("capacity", "30 ml"), ("key ingredient", "niacinamide")]),
            item(154, "Retinal Night Serum", 5200)
                .about("Starts low and goes slow; comes with a calendar.")
                .with(&[("capacity", "30 ml"), ("key ingredient", "retinal")]),
            item(155, "Azelaic Serum, 10 Percent", 4400)
                .about("For redness and marks.")
                .with(&[("capacity", "30 ml"), ("key ingredient", "azelaic acid")]),
            item(156, "Squalane Oil", 3600)
                .about("Olive-derived, four drops.")
                .with(&[("capacity", "30 ml"), ("key ingredient", "squalane")]),
            item(157, "Peptide Eye Serum", 3900)
                .about("Cool steel tip, no perfume.")
                .with(&[("capacity", "15 ml"), ("key ingredient", "peptides")]),
            item(158, "Lactic Peel, 8 Percent", 3400)
                .about("Once a week, ten minutes, then sunscreen.")
                .with(&[("capacity", "30 ml"), ("key ingredient", "lactic acid")]),
        ],
        ..LINE
    },
    Line {
        prefix: "CR",
        category: "beauty/moisturisers",
        brand: "Orélys",
        about: "The jar comes back to us for refilling.",
        items: &[
            item(201, "Daily Cream, Light", 3400)
                .about("A gel-cream that disappears.")
                .with(&[("capacity", "50 ml"), ("skin type", "normal to oily")])
                .choose(&[axis("fill", &["Jar", "Refill"])]),
            item(202, "Daily Cream, Rich", 3600)
                .about("Shea and ceramides for cold weather.")
                .with(&[("capacity", "50 ml"), ("skin type", "dry")])
                .choose(&[axis("fill", &["Jar", "Refill"])]),
            item(203, "Night Cream", 4200)
                .about("Borage, jojoba and eight hours.")
                .with(&[("capacity", "50 ml"), ("skin type", "all")])
                .choose(&[axis("fill", &["Jar", "Refill"])]),
            item(204, "Barrier Balm", 3200)
                .about("For skin that has had enough.")
                .with(&[("capacity", "40 ml"), ("key ingredient", "panthenol")]),
            item(205, "Eye Cream", 2900)
                .about("Plain, thin, effective.")
                .with(&[("capacity", "15 ml"), ("key ingredient", "caffeine")]),
            item(206, "Day Cream SPF 30", 3800)
                .about("Two steps in one, for hurried mornings.")
                .with(&[("capacity", "50 ml"), ("protection", "SPF 30")]),
        ],
        ..LINE
    },
    Line {
        prefix: "SU",
        category: "beauty/sun",
        brand: "Orélys",
        about: "Reef-considerate filters.",
        attributes: &[("protection", "SPF 50")],
        items: &[
            item(251, "Invisible Sun Fluid SPF 50", 2800)
                .about("Dries matte under make-up.")
                .with(&[("capacity", "50 ml")]),
            item(252, "Tinted Sun Fluid SPF 50", 2600)
                .about("Iron oxides in three shades.")
                .with(&[("capacity", "50 ml")])
                .choose(&[axis("shade", &["Light", "Medium", "Deep"])]),
            item(253, "Family Sun Milk SPF 50", 3200)
                .about("For wet children who run.")
                .with(&[("capacity", "200 ml")]),
            sold(shared::SUN_STICK, 254, 1595),
            item(255, "After-Sun Gel", 2200)
                .about("Aloe, panthenol, fridge.")
                .with(&[("capacity", "150 ml"), ("protection", "none")]),
        ],
        ..LINE
    },
    Line {
        prefix: "MA",
        category: "beauty/masks",
        brand: "Orélys",
        about: "Once a week is plenty.",
        items: &[
            item(301, "Overnight Water Mask", 2400)
                .about("Sleep in it.")
                .with(&[("capacity", "75 ml"), ("key ingredient", "trehalose")]),
            item(302, "Pink Clay Mask", 2200)
                .about("Ten minutes for sensitive skin.")
                .with(&[("capacity", "75 ml"), ("key ingredient", "kaolin")]),
            item(303, "Honey Mask", 2600)
                .about("From the hives behind the laboratory.")
                .with(&[("capacity", "75 ml"), ("key ingredient", "honey")]),
            item(304, "Bio-Cellulose Masks, Set of 3", 1650)
                .about("Grown, not woven.")
                .with(&[("quantity", "3")]),
        ],
        ..LINE
    },
    Line {
        prefix: "LI",
        category: "beauty/lips-hands",
        brand: "Orélys",
        about: "Small enough for every coat.",
        items: &[
            sold(shared::BALM, 351, 595),
            item(352, "Tinted Lip Balm", 1200)
                .about("A little colour, a lot of butter.")
                .with(&[("capacity", "4 g")])
                .colours(&["Fig", "Rosewood", "Brick"]),
            item(353, "Hand Cream, 50 ml", 1400)
                .about("Absorbs before the phone rings.")
                .with(&[("capacity", "50 ml")])
                .choose(&[axis("scent", &["Unscented", "Verbena", "Fig"])]),
            item(354, "Hand Cream, 150 ml", 2200)
                .about("For the workbench and the sink.")
                .with(&[("capacity", "150 ml")])
                .choose(&[axis("scent", &["Unscented", "Verbena"])]),
            item(355, "Cuticle Oil", 1600)
                .about("Camellia oil with a brush.")
                .with(&[("capacity", "10 ml")]),
        ],
        ..LINE
    },
    Line {
        prefix: "BO",
        category: "beauty/body",
        brand: "Orélys",
        about: "Made in small kettles.",
        attributes: &[("skin type", "all")],
        items: &[
            item(401, "Body Lotion", 2600)
                .about("Light almond milk.")
                .with(&[("capacity", "250 ml")])
                .choose(&[axis("scent", &["Unscented", "Verbena"])]),
            item(402, "Body Oil, Dry", 3200)
                .about("Does not stain linen.")
                .with(&[("capacity", "100 ml"), ("key ingredient", "apricot kernel")]),
            item(403, "Exfoliating Body Bar", 1800)
                .about("Apricot stone powder in soap.")
                .with(&[("weight", "120 g")]),
            item(404, "Bath Salts", 2400)
                .about("Camargue salt and rosemary.")
                .with(&[("weight", "500 g")]),
            item(405, "Natural Deodorant", 1450)
                .about("Works past noon.")
                .with(&[("weight", "50 g")])
                .choose(&[axis("scent", &["Unscented", "Cedar", "Verbena"])]),
            item(406, "Shower Oil", 2200)
                .about("Turns to milk, leaves nothing behind.")
                .with(&[("capacity", "250 ml")]),
            item(407, "Firming Body Cream", 3600)
                .about("Caffeine and rosehip; a massage does the rest.")
                .with(&[("capacity", "200 ml")])
                .discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "HA",
        category: "beauty/hair",
        brand: "Orélys",
        about: "Without silicone.",
        items: &[
            item(451, "Solid Shampoo", 1800)
                .about("Seventy washes in one puck.")
                .with(&[("weight", "85 g")])
                .choose(&[axis("hair", &["Normal", "Dry", "Oily"])]),
            item(452, "Solid Conditioner", 1600)
                .about("Follows the shampoo home.")
                .with(&[("weight", "60 g")]),
            item(453, "Scalp Serum", 2400)
                .about("Rosemary and niacinamide.")
                .with(&[("capacity", "50 ml")]),
            item(454, "Hair Oil", 2800)
                .about("Two drops in wet ends.")
                .with(&[("capacity", "50 ml"), ("key ingredient", "camellia")]),
        ],
        ..LINE
    },
    Line {
        prefix: "SET",
        category: "beauty/sets",
        brand: "Orélys",
        about: "In a box worth keeping.",
        items: &[
            item(501, "Discovery Set", 4800)
                .about("Five small sizes, ten days.")
                .with(&[("quantity", "5")]),
            item(502, "Morning Ritual Set", 8900)
                .about("Cleanser, vitamin C, sun fluid.")
                .with(&[("quantity", "3")]),
            item(503, "Evening Ritual Set", 9400)
                .about("Balm, retinal, night cream.")
                .with(&[("quantity", "3")]),
            item(504, "Travel Bottles, Set of 4", 1900)
                .about("Aluminium, to be filled from the big ones.")
                .with(&[("material", "aluminium"), ("quantity", "4")]),
            item(505, "Cotton Rounds, Set of 10", 1250)
                .about("Washable, with a bag.")
                .with(&[("material", "cotton"), ("quantity", "10")]),
            item(506, "Advent Box", 6400)
                .about("Twenty-four drawers, no chocolate.")
                .with(&[("quantity", "24")])
                .preorder(),
        ],
        ..LINE
    },
];
