//! An outlet that was suspended: replicas, missing data and orders that never arrived.

use super::not_verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::SLOPPY;
use crate::line::{LINE, Line, axis, item};
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "velvetine-outlet",
    currency: "USD",
    member_since_days_ago: 160,
    habits: SLOPPY,
    deepest_stock: 300,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(0),
    free_shipping_threshold_minor: None,
    shipping_days: None,
    return_summary: Some("All sales final."),
    shipping_summary: None,
    privacy_url: None,
    terms_url: None,
    warranty_months: None,
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Velvetine Outlet 24",
        legal_name: "VLV Outlet Group",
        description: "Luxury look, outlet price. Contact by mail only.",
        website_url: "https://velvetine-outlet.example",
        platform: "prestashop",
        active: true,
        country: "US",
        currency: SHOP.currency,
        languages: vec!["en"],
        ships_to: vec!["US", "GB", "DE", "FR", "AU"],
        support_email: "sales@velvetine-outlet.example",
        trust_score: Some(0.12),
        provisional: false,
        identity: not_verified("failed"),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 43_200,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("accessories", "Accessories"),
    ("accessories/watches", "Watches"),
    ("accessories/bags", "Bags"),
    ("accessories/sunglasses", "Sunglasses"),
    ("accessories/jewellery", "Jewellery"),
    ("clothing", "Clothing"),
    ("shoes", "Shoes"),
    ("beauty", "Beauty"),
    ("beauty/perfume", "Perfume"),
    ("electronics", "Electronics"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "VW",
        category: "accessories/watches",
        brand: "VLV",
        about: "Same quality as original. No box.",
        items: &[
            item(101, "Chrono Gold Style Watch", 3900)
                .about("Automatic look, quartz inside.")
                .colours(&["Gold", "Black"]),
            item(102, "Diver Style Watch Green", 4500)
                .about("Bezel turns. Not for diving.")
                .colours(&["Green", "Blue"]),
            item(103, "Ladies Crystal Watch", 3500)
                .about("Stones glued.")
                .colours(&["Rose", "Silver"]),
            item(104, "Skeleton Watch Men", 4900).about("See inside moving."),
            item(105, "Square Watch Leather", 2900).about("Strap PU.").colours(&["Brown", "Black"]),
            item(106, "Moon Phase Style Watch", 5500).about("Moon printed."),
            item(107, "Pilot Style Watch Large", 4200).about("46 mm case."),
            item(108, "Couple Watch Set", 2500).about("Two pieces.").with(&[("quantity", "2")]),
            item(109, "Watch Box 6 Slots", 1900).about("PU leather, glass lid."),
        ],
        ..LINE
    },
    Line {
        prefix: "VB",
        category: "accessories/bags",
        brand: "VLV",
        about: "Ask for pictures by mail.",
        items: &[
            item(151, "Quilted Chain Bag", 5900)
                .about("Medium, gold chain.")
                .colours(&["Black", "Beige", "Red"]),
            item(152, "Monogram Tote Large", 7900)
                .about("Canvas feel.")
                .colours(&["Brown", "Grey"]),
            item(153, "Mini Saddle Style Bag", 4900)
                .about("Magnet closing.")
                .colours(&["Black", "Tan"]),
            item(154, "Travel Duffle Checked", 6500).about("Lock included."),
            item(155, "Card Wallet Checked", 3500)
                .about("Eight slots.")
                .colours(&["Brown", "Black"]),
            item(156, "Belt Bag Unisex", 3900).about("Adjustable.").colours(&["Black", "Olive"]),
            item(157, "Woven Shoulder Bag", 6900)
                .about("Soft PU weave.")
                .colours(&["Green", "White"]),
            item(158, "Zip Wallet Long", 2900).about("Gold zip."),
            item(159, "Bucket Bag Drawstring", 4500).about("One strap."),
            item(160, "Laptop Briefcase", 5500).about("15 inch."),
        ],
        ..LINE
    },
    Line {
        prefix: "VS",
        category: "accessories/sunglasses",
        brand: "VLV",
        about: "UV400 sticker.",
        items: &[
            item(201, "Aviator Style Sunglasses", 1900)
                .about("Metal.")
                .colours(&["Gold", "Silver"]),
            item(202, "Cat Eye Sunglasses", 1900)
                .about("Acetate look.")
                .colours(&["Black", "Leopard"]),
            item(203, "Square Oversize Sunglasses", 2200)
                .about("With logo plate.")
                .colours(&["Black", "Brown"]),
            item(204, "Round Retro Sunglasses", 1800).about("Thin frame."),
            item(205, "Sport Shield Sunglasses", 2400)
                .about("Mirror lens.")
                .colours(&["Blue", "Red"]),
            item(206, "Sunglasses Case Set", 1500).about("Cloth and box."),
            item(207, "Rimless Tinted Sunglasses", 2100).about("Light pink lens."),
        ],
        ..LINE
    },
    Line {
        prefix: "VJ",
        category: "accessories/jewellery",
        brand: "VLV",
        about: "Colour can fade with water.",
        items: &[
            item(251, "Clover Style Bracelet", 2500)
                .about("Five motifs.")
                .colours(&["White", "Green", "Black"]),
            item(252, "Nail Style Bracelet", 2200)
                .about("With screwdriver.")
                .colours(&["Gold", "Silver", "Rose"]),
            item(253, "Love Style Ring", 2900)
                .about("Sizes run small.")
                .choose(&[axis("size", &["5", "6", "7", "8", "9"])]),
            item(254, "Tennis Necklace Zirconia", 3500).about("40 cm."),
            item(255, "Hoop Earrings Logo", 1800).about("Pair.").colours(&["Gold", "Silver"]),
            item(256, "Pearl Set 3 pcs", 3200)
                .about("Necklace, bracelet, earrings.")
                .with(&[("quantity", "3")]),
            item(257, "Cuban Chain Thick", 2700).about("50 cm.").colours(&["Gold", "Silver"]),
        ],
        ..LINE
    },
    Line {
        prefix: "VC",
        category: "clothing",
        brand: "VLV",
        about: "Order one size up.",
        axes: &[axis("size", &["S", "M", "L", "XL"])],
        items: &[
            item(301, "Designer Style Polo", 2900)
                .about("Logo on chest.")
                .colours(&["White", "Navy"]),
            item(302, "Logo Hoodie Heavy", 3500).about("Back print.").colours(&["Black", "Grey"]),
            item(303, "Puffer Vest Shiny", 4500)
                .about("Hood in collar.")
                .colours(&["Black", "Silver"]),
            item(304, "Logo Tee 2 Pack", 2500).about("Two pieces.").with(&[("quantity", "2")]),
            item(305, "Track Jacket Stripe", 3900).about("Side stripe."),
            item(306, "Cashmere Feel Sweater", 4900).about("Acrylic.").colours(&["Camel", "Black"]),
            item(307, "Linen Feel Shirt", 3300).about("Polyester."),
        ],
        ..LINE
    },
    Line {
        prefix: "VF",
        category: "shoes",
        brand: "VLV",
        about: "No returns on shoes.",
        axes: &[axis("size", &["38", "39", "40", "41", "42", "43", "44"])],
        items: &[
            item(351, "Chunky Sneaker Triple", 5900)
                .about("Thick sole.")
                .colours(&["White", "Black"]),
            item(352, "Runner Knit Style", 6500).about("Sock fit."),
            item(353, "Logo Slides", 4900).about("Rubber.").colours(&["Black", "White"]),
            item(354, "Loafer Horsebit Style", 6900).about("PU."),
            item(355, "High Top Star Sneaker", 7500).about("Used look."),
            item(356, "Espadrilles Platform", 5500).about("Jute sole."),
        ],
        ..LINE
    },
    Line {
        prefix: "VP",
        category: "beauty/perfume",
        brand: "VLV",
        about: "Tester, no cap, no box.",
        items: &[
            item(401, "Oud Style Parfum 100 ml", 2500)
                .about("Inspired by.")
                .with(&[("capacity", "100 ml")]),
            item(402, "Blossom Style Parfum 100 ml", 2500)
                .about("Inspired by, floral.")
                .with(&[("capacity", "100 ml")]),
            item(403, "Fresh Style Cologne 100 ml", 2200)
                .about("Inspired by, citrus.")
                .with(&[("capacity", "100 ml")]),
            item(404, "Parfum Set 5 x 10 ml", 2900).about("Mixed.").with(&[("quantity", "5")]),
            item(405, "Vanilla Style Mist 150 ml", 2000)
                .about("Sweet.")
                .with(&[("capacity", "150 ml")]),
        ],
        ..LINE
    },
    Line {
        prefix: "VE",
        category: "electronics",
        brand: "VLV",
        about: "No warranty.",
        items: &[
            item(451, "Pro Style Earbuds", 3500).about("Pop-up works. Sometimes."),
            item(452, "Smart Watch Steel Style", 6500)
                .about("Apps not included.")
                .colours(&["Silver", "Gold"]),
            item(453, "Luxury Phone Case", 1500)
                .about("Select model.")
                .colours(&["Brown", "Black"]),
        ],
        ..LINE
    },
];
