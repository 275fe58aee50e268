//! A bookshop and stationer in Ireland.

use super::verified;
use crate::expand::{Shop, categories, products, store_id};
use crate::habits::USUAL;
use crate::line::{LINE, Line, axis, item, sold};
use crate::shared;
use crate::world::{Policies, Store};

const SHOP: Shop = Shop {
    slug: "marrow-lane",
    currency: "EUR",
    member_since_days_ago: 1480,
    habits: USUAL,
    deepest_stock: 40,
};

const POLICIES: Policies = Policies {
    return_window_days: Some(21),
    free_shipping_threshold_minor: Some(6000),
    shipping_days: Some((3, 8)),
    return_summary: Some("Twenty-one days if the spine is uncracked."),
    shipping_summary: Some("By post from Galway, wrapped in paper; free from 60 euro in Ireland."),
    privacy_url: Some("https://marrow-lane.example/privacy"),
    terms_url: Some("https://marrow-lane.example/terms"),
    warranty_months: None,
};

pub(super) fn store() -> Store {
    Store {
        id: store_id(SHOP.slug),
        slug: SHOP.slug,
        name: "Marrow Lane Books & Paper",
        legal_name: "Marrow Lane Booksellers Ltd.",
        description: "A bookshop and stationer on two floors in Galway. New fiction, odd \
                      non-fiction, good paper and ink, and a cat named Marginalia.",
        website_url: "https://marrow-lane.example",
        platform: "prestashop",
        active: true,
        country: "IE",
        currency: SHOP.currency,
        languages: vec!["en", "ga"],
        ships_to: vec!["IE", "GB", "FR", "DE", "NL", "US"],
        support_email: "desk@marrow-lane.example",
        trust_score: Some(0.83),
        provisional: false,
        identity: verified("business", "tax number", 420),
        policies: POLICIES,
        member_since_days_ago: SHOP.member_since_days_ago,
        last_sync_minutes_ago: 44,
        categories: categories(SHOP.slug, CATEGORIES),
        products: products(&SHOP, &[LINES]),
    }
}

const CATEGORIES: &[(&str, &str)] = &[
    ("books", "Books"),
    ("books/fiction", "Fiction"),
    ("books/non-fiction", "Non-Fiction"),
    ("books/children", "Children"),
    ("books/poetry", "Poetry"),
    ("stationery", "Stationery"),
    ("stationery/notebooks", "Notebooks"),
    ("stationery/pens", "Pens & Ink"),
    ("stationery/paper", "Paper & Cards"),
    ("gifts", "Gifts & Games"),
];

const LINES: &[Line] = &[
    Line {
        prefix: "FI",
        category: "books/fiction",
        brand: "Gull & Harbour Press",
        about: "Signed copies on request while the author still visits.",
        attributes: &[("language", "English")],
        axes: &[axis("format", &["Paperback", "Hardback"]).costing(&[0, 900])],
        items: &[
            item(101, "The Salt Clerk", 1495)
                .about(
                    "A customs officer in 1890s Cork discovers that one ship never arrives and \
                     never stops being expected. By Nuala Brannock.",
                )
                .with(&[("author", "Nuala Brannock"), ("pages", "312")]),
            item(102, "Eleven Winters on Inishgarve", 1395)
                .about("Two sisters keep a lighthouse and a secret. By Fergal Otway.")
                .with(&[("author", "Fergal Otway"), ("pages", "268")]),
            item(103, "A Room for Cartographers", 1595)
                .about("Four strangers share a flat and a map that is changing. By Ines Calloway.")
                .with(&[("author", "Ines Calloway"), ("pages", "344")]),
            item(104, "Small Engines", 1295)
                .about("Nine stories about people who repair things. By Tomas Dell.")
                .with(&[("author", "Tomas Dell"), ("pages", "204")]),
            item(105, "The Orchard Inquest", 1650)
                .about(
                    "A village doctor, a dry summer and a verdict nobody wants. By Maeve \
                     Corrigan-Shaw.",
                )
                .with(&[("author", "Maeve Corrigan-Shaw"), ("pages", "398")]),
            item(106, "Low Water", 1450)
                .about("A ferry pilot counts what the river takes. By Anselm Roe.")
                .with(&[("author", "Anselm Roe"), ("pages", "256")]),
            item(107, "Letters to a Vanished Bookseller", 1550)
                .about(
                    "A correspondence found in the wall of a shop much like ours. By Clodagh \
                     Finn-Marsh.",
                )
                .with(&[("author", "Clodagh Finn-Marsh"), ("pages", "288")]),
            item(108, "The Glass Meridian", 1795)
                .about("Navigation, jealousy and a stolen clock. By Edric Vane.")
                .with(&[("author", "Edric Vane"), ("pages", "432")])
                .preorder(),
        ],
        ..LINE
    },
    Line {
        prefix: "NF",
        category: "books/non-fiction",
        brand: "Gull & Harbour Press",
        about: "With notes, an index and a bibliography worth reading.",
        attributes: &[("language", "English")],
        axes: &[axis("format", &["Paperback", "Hardback"]).costing(&[0, 1000])],
        items: &[
            item(151, "How Paper Remembers", 1895)
                .about("Watermarks, ink and what a conservator sees. By Oona Tierney.")
                .with(&[("author", "Oona Tierney"), ("pages", "276")]),
            item(152, "A Short History of Long Walks", 1995)
                .about("From pilgrims to postmen. By Peter Ashgrove.")
                .with(&[("author", "Peter Ashgrove"), ("pages", "320")]),
            item(153, "Bread Before Ovens", 2100)
                .about("Baking on stones, in embers and under iron. By Lisbet Moran.")
                .with(&[("author", "Lisbet Moran"), ("pages", "248")]),
            item(154, "The Bog and the Bulb", 1750)
                .about("A year in a peatland nursery. By Ciara Whelk.")
                .with(&[("author", "Ciara Whelk"), ("pages", "232")]),
            item(155, "Tide Tables and Other Poems of Use", 2200)
                .about("On the tables, almanacs and lists we live by. By Hugh Sallow.")
                .with(&[("author", "Hugh Sallow"), ("pages", "302")]),
            item(156, "Repairing the Wireless", 1695)
                .about("A memoir of valves and fathers. By Desmond Keel.")
                .with(&[("author", "Desmond Keel"), ("pages", "218")])
                .discontinued(),
        ],
        ..LINE
    },
    Line {
        prefix: "CH",
        category: "books/children",
        brand: "Lantern Goose Books",
        about: "Sturdy binding, thick paper, no batteries.",
        attributes: &[("language", "English")],
        items: &[
            item(201, "The Fox Who Could Not Whistle", 1195)
                .about("A picture book with a noise on every page.")
                .with(&[("pages", "36"), ("age", "3+")]),
            item(202, "Ten Tired Tractors", 995)
                .about("A counting book that ends in sleep.")
                .with(&[("pages", "24"), ("age", "1+")]),
            item(203, "Mossy Gets Lost in the Library", 1095)
                .about("She is found under G.")
                .with(&[("pages", "32"), ("age", "4+")]),
            item(204, "The Lighthouse Mice", 1295)
                .about("Chapters for reading aloud, one per bedtime.")
                .with(&[("pages", "148"), ("age", "6+")]),
            item(205, "An Atlas of Imaginary Islands", 1350)
                .about("Maps to draw on, with a fold-out sea.")
                .with(&[("pages", "64"), ("age", "7+")]),
            item(206, "Detective Puffin and the Missing Buoy", 1150)
                .about("First in a series of six.")
                .with(&[("pages", "120"), ("age", "7+")]),
        ],
        ..LINE
    },
    Line {
        prefix: "PO",
        category: "books/poetry",
        brand: "Gull & Harbour Press",
        about: "Printed in an edition of six hundred.",
        attributes: &[("language", "English")],
        items: &[
            item(251, "Weather for Strangers", 1200)
                .about("Poems by Aoife Lanigan.")
                .with(&[("pages", "72")]),
            item(252, "Field Names", 1200)
                .about("Poems by Colm Devery, one for each field of a farm.")
                .with(&[("pages", "84")]),
            item(253, "The Penguin's Grammar of Snow", 1400)
                .about("Poems for children and other linguists, by Rua Hanley.")
                .with(&[("pages", "64")]),
        ],
        ..LINE
    },
    Line {
        prefix: "NB",
        category: "stationery/notebooks",
        brand: "Quillhaven",
        about: "Takes fountain pen ink without feathering.",
        attributes: &[("paper", "100 g")],
        items: &[
            sold(shared::DOT_NOTEBOOK, 301, 1995),
            item(302, "Plain Notebook, A5", 1995)
                .about("Nothing on the page but the page.")
                .with(&[("size", "A5"), ("pages", "192")])
                .colours(&["Night Blue", "Forest"]),
            item(303, "Ruled Notebook, B5", 2450)
                .about("For people who write large or long.")
                .with(&[("size", "B5"), ("pages", "224")])
                .colours(&["Night Blue", "Terracotta"]),
            item(304, "Exercise Books, Set of 3", 1150)
                .about("Like school, but with better paper.")
                .with(&[("size", "A5"), ("pages", "48"), ("quantity", "3")])
                .colours(&["Mixed", "Kraft"]),
            item(305, "Reading Journal", 2900)
                .about("A hundred books, two pages each, and a list of those you gave up.")
                .with(&[("size", "A5"), ("pages", "224")]),
            item(306, "Guest Book, Linen Bound", 3400)
                .about("Blank pages for weddings and holiday cottages.")
                .with(&[("size", "23 x 23 cm"), ("pages", "120")])
                .colours(&["Oat", "Slate"]),
        ],
        ..LINE
    },
    Line {
        prefix: "PN",
        category: "stationery/pens",
        brand: "Inkmere",
        about: "Tried at the counter before it ships.",
        items: &[
            sold(shared::ROOK_PEN, 351, 4400),
            sold(shared::TIDE_INK, 352, 1550),
            item(353, "Peat Ink, 50 ml", 1550)
                .about("A warm black-brown that reads like an old letter.")
                .with(&[("capacity", "50 ml"), ("base", "water")]),
            item(354, "Whin Ink, 50 ml", 1550)
                .about("Gorse yellow, legible only to the writer.")
                .with(&[("capacity", "50 ml"), ("base", "water")]),
            item(355, "Heather Ink, 50 ml", 1550)
                .about("Dusty violet with a grey undertone.")
                .with(&[("capacity", "50 ml"), ("base", "water")]),
            item(356, "Raven Piston Fountain Pen", 9800)
                .about("Holds two millilitres and shows how much is left.")
                .with(&[("material", "resin"), ("weight", "24 g")])
                .choose(&[axis("nib", &["Extra fine", "Fine", "Medium", "Broad"])]),
            item(357, "Blotting Paper, 20 Sheets", 850)
                .about("For the impatient.")
                .with(&[("quantity", "20"), ("size", "A5")]),
            item(358, "Dip Pen Set", 2200)
                .about("A holder, five nibs and a pot that does not tip.")
                .with(&[("quantity", "7")]),
            sold(shared::PENCIL_TIN, 359, 2750),
        ],
        ..LINE
    },
    Line {
        prefix: "PP",
        category: "stationery/paper",
        brand: "Marrow Lane",
        about: "Cut and packed above the shop.",
        attributes: &[("paper", "cotton, 120 g")],
        items: &[
            item(401, "Letter Set, 25 Sheets", 1650)
                .about("Laid paper with tissue-lined envelopes.")
                .with(&[("quantity", "25")])
                .colours(&["Cream", "Blue"]),
            item(402, "Greeting Card, Curlew", 395)
                .about("Linocut by a neighbour.")
                .with(&[("size", "A6")]),
            item(403, "Greeting Card, Bookshop Cat", 395)
                .about("Her name is Marginalia.")
                .with(&[("size", "A6")]),
            item(404, "Greeting Card, Rain on Tin Roof", 395)
                .about("You can nearly hear it.")
                .with(&[("size", "A6")]),
            item(405, "Bookplates, Set of 20", 1200)
                .about("Gummed, with room for a name.")
                .with(&[("quantity", "20")])
                .colours(&["Oak Leaf", "Key"]),
            item(406, "Wrapping Paper, Old Endpapers", 1450)
                .about("Six marbled sheets.")
                .with(&[("quantity", "6"), ("size", "50 x 70 cm")]),
            sold(shared::WEEK_PLANNER, 407, 2150),
            item(408, "Academic Diary", 1800)
                .about("September to August, week to view.")
                .with(&[("size", "A5"), ("pages", "144")])
                .colours(&["Forest", "Plum"]),
        ],
        ..LINE
    },
    Line {
        prefix: "GF",
        category: "gifts",
        brand: "Marrow Lane",
        about: "Wrapped on request.",
        items: &[
            item(451, "Canvas Book Tote", 2400)
                .about("Reinforced base; holds the weekly shop or one Russian novel.")
                .with(&[("material", "canvas")])
                .colours(&["Natural", "Navy"]),
            item(452, "Brass Bookmarks, Set of 3", 950)
                .about("Thin enough to forget.")
                .with(&[("material", "brass"), ("quantity", "3")]),
            item(453, "Bookends, Pair", 3200).about("Cast iron hares, facing out.").with(&[
                ("material", "cast iron"),
                ("weight", "2.6 kg"),
                ("quantity", "2"),
            ]),
            item(454, "Rechargeable Book Light", 2800)
                .about("Amber light, clip padded with cork.")
                .with(&[("power", "USB-C"), ("weight", "58 g")]),
            sold(shared::FOLIO_READER, 455, 15_900),
            sold(shared::MOON_PUZZLE, 456, 2995),
            sold(shared::FOX_GAME, 457, 1595),
            sold(shared::HOUSE_BLOCKS, 458, 3750),
            item(459, "Surprise Book Parcel", 4500)
                .about("Three books chosen from what you last loved.")
                .with(&[("quantity", "3")]),
        ],
        ..LINE
    },
];
