//! The herbalist's shelf, described in French.

use crate::line::{LINE, Line, axis, item};

pub(super) const LINES: &[Line] = &[VISAGE, CORPS, CHEVEUX, MAISON];

const VISAGE: Line = Line {
    prefix: "VI",
    category: "herboristerie/visage",
    brand: "Cigale & Fils",
    about: "Fabriqué à Grasse en petites quantités.",
    items: &[
        item(601, "Crème hydratante pour peaux sèches", 2900)
            .about("Onctueuse, au beurre de karité, absorbée avant le premier café.")
            .with(&[("contenance", "50 ml"), ("type de peau", "sèche")]),
        item(602, "Crème de nuit réparatrice à la rose", 3800)
            .about("Travaille pendant que vous dormez et ne réclame pas d'heures supplémentaires.")
            .with(&[("contenance", "50 ml"), ("type de peau", "mature")]),
        item(603, "Gel nettoyant purifiant", 1900)
            .about("Mousse légère à la sauge pour les peaux grasses et les matins pressés.")
            .with(&[("contenance", "150 ml"), ("type de peau", "grasse")]),
        item(604, "Lait démaquillant à la camomille", 1800)
            .about("Efface les maquillages têtus sans piquer les yeux sensibles.")
            .with(&[("contenance", "200 ml"), ("type de peau", "sensible")]),
        item(605, "Sérum éclat à la vitamine C", 4200)
            .about("Illumine les teints fatigués ; quelques gouttes suffisent.")
            .with(&[("contenance", "30 ml"), ("type de peau", "tous types")]),
        item(606, "Masque à l'argile verte", 1650)
            .about("Dix minutes de silence et des pores resserrés.")
            .with(&[("contenance", "100 ml"), ("type de peau", "grasse")]),
        item(607, "Baume à lèvres au miel", 750)
            .about("Répare les lèvres gercées et résiste aux croissants.")
            .with(&[("contenance", "10 ml")]),
        item(608, "Eau florale de bleuet", 1400)
            .about("Apaise les paupières gonflées après les longues soirées.")
            .with(&[("contenance", "200 ml")]),
    ],
    ..LINE
};

const CORPS: Line = Line {
    prefix: "CO",
    category: "herboristerie/corps",
    brand: "Cigale & Fils",
    about: "Sans colorant, sans paraben, avec un peu d'accent.",
    items: &[
        item(651, "Savons à l'huile d'olive, lot de 3", 1500)
            .about("Coupés à la main, séchés au mistral pendant quatre semaines.")
            .with(&[("poids", "300 g")]),
        item(652, "Savon liquide à la lavande", 1250)
            .about("Pour les mains des jardiniers et des enfants.")
            .with(&[("contenance", "300 ml")])
            .choose(&[axis("format", &["Flacon", "Recharge"])]),
        item(653, "Gommage au sucre et à l'abricot", 2200)
            .about("Exfolie les coudes rugueux et sent la confiture.")
            .with(&[("contenance", "200 ml")]),
        item(654, "Crème pour les mains abîmées", 1350)
            .about("Soulage la peau gercée par le froid et la vaisselle.")
            .with(&[("contenance", "75 ml")]),
        item(655, "Gel douche à la verveine", 1450)
            .about("Réveille sans crier.")
            .with(&[("contenance", "250 ml")]),
        item(656, "Huile sèche aux fleurs d'oranger", 2800)
            .about("Nourrit le corps et les pointes des cheveux sans laisser de film gras.")
            .with(&[("contenance", "100 ml")]),
        item(657, "Lait solaire pour enfants", 2600)
            .about("Indice très élevé, résistant aux châteaux de sable.")
            .with(&[("contenance", "150 ml"), ("protection", "SPF 50")]),
    ],
    ..LINE
};

const CHEVEUX: Line = Line {
    prefix: "CX",
    category: "herboristerie/cheveux",
    brand: "Cigale & Fils",
    about: "Sans silicone.",
    items: &[
        item(701, "Shampoing doux aux orties", 1600)
            .about("Pour les cheveux fins qui graissent vite.")
            .with(&[("contenance", "250 ml"), ("type de cheveux", "fins")]),
        item(702, "Après-shampoing au tilleul", 1700)
            .about("Démêle les cheveux bouclés et les matinées difficiles.")
            .with(&[("contenance", "200 ml"), ("type de cheveux", "bouclés")]),
        item(703, "Brosse à cheveux en bois de hêtre", 2400)
            .about("Picots arrondis, manche huilé, aucun nœud ne lui résiste.")
            .with(&[("matière", "hêtre")]),
    ],
    ..LINE
};

const MAISON: Line = Line {
    prefix: "MN",
    category: "herboristerie/maison",
    brand: "Cigale & Fils",
    about: "Emballé dans du papier de soie.",
    items: &[
        item(751, "Bougie parfumée au figuier", 2900)
            .about("Quarante heures de garrigue, mèche en coton.")
            .with(&[("poids", "180 g")]),
        item(752, "Gants de toilette en coton, lot de 2", 950)
            .about("Tissés épais, doux des deux côtés.")
            .with(&[("matière", "coton")]),
        item(753, "Trousse de voyage en lin", 3400)
            .about("Doublée, lavable, assez grande pour les flacons des autres.")
            .with(&[("matière", "lin")])
            .colours(&["Ocre", "Ardoise"]),
    ],
    ..LINE
};
